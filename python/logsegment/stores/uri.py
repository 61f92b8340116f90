"""Paths and URIs of files.

Users give options of a store next to a URI. Inside the package they are before the host, each quoted: `s3://!aws_region=eu@bucket/dir/file.log`.
So they travel with the URI, and code that splits and joins paths (`os.path`, Rust's `Path`) works on it. All functions take both forms.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from logsegment._log_paths import ID

#: Options of a store by the names of object_store, as in Polars and delta-rs: `{"aws_region": "eu-west-1"}`.
StorageOptions: TypeAlias = Mapping[str, str]
#: Two letters at least: `C:` is a drive.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
#: Hadoop's names of the same stores.
_ALIASES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
#: Begins the scheme of uploaded segments, which are read as log directories (`logsegment.tiered`).
TIERED = "tiered+"
#: Begins the URI of a buffer of this process .
MEMORY = "memory://"
#: The host of a path that is relative to the current directory.
_FROM_HERE = "here"
#: In the name of an upload that is not read to its end: the first offset that is not read.
_CUT = re.compile(rf"(?<=[0-9]{{20}}-{ID})-before-([0-9]{{20}})(?=\.[a-z_-]+\Z)")
#: The same in a layout of the user.
_CUT_OF_LAYOUT = re.compile(r"-before-([0-9]{20})(?=\.[a-z_-]+\Z)")
#: Settings of tiered storage, which the URI of the objects does not have.
_OF_TIERED = ("keys=", "layout=")
#: Schemes with the name of a container as the user.
_AZURE = ("abfs", "abfss")
#: Settings that URIs once had, and the options for them.
_OPTION_OF = {"endpoint_override": "aws_endpoint", "scheme": "aws_endpoint", "region": "aws_region"}
#: Schemes in which a user is a key.
_KEYED = ("s3", "gs", "az")
#: A password with a bare slash, as keys of S3 have them; a port is none.
_BARE_SLASH = re.compile(r"[^/@?:]*:(?![0-9]+/)[^@?]*@")
_QUERY = re.compile(r"(?:[^=&]+=[^=&]*(?:&|$))*")
#: URIs whose parts are kept: a look-up asks for those of a few files again and again.
_KEPT = 256


class StoreUri(str):
    """A URI that is printed and formatted without user and settings, which may be secret. As a string it is whole.

    Example:
        >>> from logsegment.stores.uri import with_options
        >>> place = with_options("s3://bucket/orders-0", {"aws_secret_access_key": "secret"})
        >>> print(place)
        s3://bucket/orders-0
    """

    __slots__ = ()

    def __str__(self) -> str:
        return shown(self[:])

    def __repr__(self) -> str:
        return repr(shown(self[:]))

    def __format__(self, spec: str) -> str:
        return format(shown(self[:]), spec)


class Parts(NamedTuple):
    """The parts of a URI. User and query are as written, and the path is decoded."""

    scheme: str
    user: str
    query: str
    host: str
    path: str

    @property
    def options(self) -> dict[str, str]:
        """Return the options of the store, and the keys of tiered storage."""
        pairs = (setting.partition("=") for setting in self.query.split("&") if setting)
        return {unquote(name): unquote(value) for name, _, value in pairs}


def is_stored(path: str | os.PathLike[str]) -> bool:
    """Return True for a URI of a store; False for a path of this machine and a `file:` URI."""
    match = _SCHEME.match(os.fspath(path))
    return match is not None and match[1].lower() != "file"


def placed(path: str | os.PathLike[str]) -> str:
    """Return a path or URI in the form that is used inside the package.

    Args:
        path: a path of this machine, a `file:` URI or a URI of a store.

    Returns:
        A `StoreUri`, or a path of this machine as given.

    Raises:
        ValueError: if a `file:` URI names another machine, or a URI of a store has a key, a password or settings.
    """
    text = os.fspath(path)
    match = _SCHEME.match(text)
    if match is None:
        return _without_scheme(text) if text.startswith("file:/") else text
    if match[1].lower() == "file":
        return _without_scheme(text)
    parts = parts_of(text)
    _ensure_bare(text, parts)
    return joined(parts)


def with_options(path: str | os.PathLike[str], options: StorageOptions | None) -> str:
    """Return a path or URI as `placed` does, with options of its store; a path of this machine has none.

    Args:
        path: a path of this machine or a URI.
        options: by the names of object_store; None for those of the environment.

    Raises:
        TypeError: as `ensure_options`.
        ValueError: as `placed`.
    """
    ensure_options(options)
    place = placed(path)
    if not options or not is_stored(place):
        return place
    parts = parts_of(place)
    own = [parts.query] if parts.query else []
    own += [f"{quote(str(name), safe='')}={quote(str(value), safe='')}" for name, value in sorted(options.items())]
    return joined(parts._replace(query="&".join(own)))


def ensure_options(storage_options: StorageOptions | None) -> None:
    """Refuse options of a store that are not text.

    Raises:
        TypeError: if they are not a mapping of text to text. The message has no value.
    """
    if storage_options is None:
        return
    if not isinstance(storage_options, Mapping):
        raise TypeError(f"storage_options must be a mapping of names to text, not {type(storage_options).__name__}")
    for name, value in storage_options.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"storage_options must have text, but {name!r} has {type(value).__name__}")


@lru_cache(maxsize=_KEPT)
def parts_of(uri: str) -> Parts:
    """Split a URI, in either form."""
    scheme, _, rest = uri[:].partition("://")
    scheme = scheme.lower()
    authority, slash, rest = _cut(rest)
    front, _, host = authority.rpartition("@")
    path, _, query = rest.partition("?")
    user, mark, own = front.rpartition("!")
    if mark and _QUERY.fullmatch(own):
        front, query = user, query or unquote(own)
    tier = TIERED if scheme.startswith(TIERED) else ""
    scheme = scheme[len(tier) :]
    return Parts(tier + _ALIASES.get(scheme, scheme), front, query, host, unquote(path) if slash else "")


@lru_cache(maxsize=_KEPT)
def joined(parts: Parts) -> StoreUri:
    """Return the URI of parts, in the form that is used inside the package."""
    front = parts.user + (f"!{quote(parts.query, safe='=&')}" if parts.query or "!" in parts.user else "")
    path = "/".join(quote(name, safe=" ~!$'()*+,;=:") for name in parts.path.split("/"))
    return StoreUri(f"{parts.scheme}://{front + '@' if front else ''}{parts.host}/{path}".rstrip("/"))


def is_buffer(path: str) -> bool:
    """Return True for the URI of a buffer of this process."""
    return path[: len(MEMORY)].lower() == MEMORY


def is_tiered(path: str) -> bool:
    """Return True for a URI of uploaded segments that are read as log directories."""
    return path[: len(TIERED)].lower() == TIERED


@lru_cache(maxsize=_KEPT)
def untiered(uri: str) -> str:
    """Return the path or URI of uploaded objects, without keys and layout and without the offset at which a segment ends."""
    parts = parts_of(uri)
    parts = parts._replace(path=_cut_in(parts).sub("", parts.path))
    scheme = parts.scheme.removeprefix(TIERED)
    if scheme == "file":
        return parts.path if parts.host == _FROM_HERE else f"/{parts.path}"
    query = "&".join(setting for setting in parts.query.split("&") if not setting.startswith(_OF_TIERED))
    return joined(parts._replace(scheme=scheme, query=query))


def file_uri(path: str) -> StoreUri:
    """Return the `file:` URI of a path, to which `tiered+` can be added; a relative path stays relative."""
    if os.path.isabs(path):
        return joined(Parts("file", "", "", "", os.path.abspath(path).lstrip("/")))
    return joined(Parts("file", "", "", _FROM_HERE, path))


def _cut_in(parts: Parts) -> re.Pattern[str]:
    return _CUT_OF_LAYOUT if any(setting.startswith("layout=") for setting in parts.query.split("&")) else _CUT


def absolute(path: str | os.PathLike[str]) -> str:
    """Return a path or URI that means the same in every directory."""
    place = placed(path)
    if not is_tiered(place):
        return place if is_stored(place) else os.path.abspath(place)
    parts = parts_of(place)
    if parts.host == _FROM_HERE and parts.scheme == f"{TIERED}file":
        parts = parts._replace(host="", path=os.path.abspath(parts.path).lstrip("/"))
    return joined(parts)


def directory_of(path: str) -> str:
    """Return the path or URI of the directory of a file."""
    above = os.path.dirname(path[:])
    return StoreUri(above) if is_stored(path) else above or "."


def join_path(directory: str, name: str) -> str:
    """Return the path or URI of a file in a directory."""
    if not is_stored(directory):
        return os.path.join(directory, name)
    path = parts_of(directory).path.rstrip("/")
    return below(directory, f"{path}/{name}" if path else name)


def here(path: str) -> str | None:
    """Return the path of a file of this machine, or of an object of tiered storage here; None for a file in a store."""
    if is_tiered(path):
        place = untiered(path)
        return None if is_stored(place) else place
    return None if is_stored(path) else path[:]


def below(uri: str, path: str) -> StoreUri:
    """Return the URI of another path in the same store."""
    return joined(parts_of(uri)._replace(path=path))


def shown(path: str) -> str:
    r"""Return a path or URI as text for people and for JSON.

    A URI has no user, password and settings. A byte of a path that is not UTF-8 is `\xNN`.
    """
    if not is_stored(path):
        return os.fsencode(path[:]).decode("utf-8", "backslashreplace")
    if is_tiered(path):
        return shown(untiered(path))
    parts = parts_of(path)
    container = f"{parts.user.partition(':')[0]}@" if parts.scheme in _AZURE and parts.user.partition(":")[0] else ""
    return f"{parts.scheme}://{container}{parts.host}/{parts.path}".rstrip("/")


def _ensure_bare(text: str, parts: Parts) -> None:
    """Raise an error for a URI of a user with a key, a password or settings.

    Raises:
        ValueError: naming the option to use instead.
    """
    scheme = parts.scheme.removeprefix(TIERED)
    if ":" in parts.user or (parts.user and scheme in _KEYED):
        names = "aws_access_key_id and aws_secret_access_key" if scheme == "s3" else "the names of object_store"
        raise ValueError(f"{shown(joined(parts))}: a URI has no keys or passwords: use storage_options ({names})")
    for name in ("?" in text and parts.options) or ():
        option = f" ({_OPTION_OF[name]} for {name})" if name in _OPTION_OF else ""
        raise ValueError(f"{shown(joined(parts))}: a URI has no settings: use storage_options{option}")


def _cut(rest: str) -> tuple[str, str, str]:
    """Return authority, slash and the rest. A query may follow the authority directly."""
    if match := _BARE_SLASH.match(rest):
        rest = match[0].replace("/", "%2F") + rest[match.end() :]
    at = min((place for place in (rest.find("/"), rest.find("?")) if place >= 0), default=len(rest))
    if rest[at : at + 1] == "?":
        return rest[:at], "/", rest[at:]
    return rest[:at], rest[at : at + 1], rest[at + 1 :]


def _without_scheme(text: str) -> str:
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost"):
        raise ValueError(f"{text}: a file: URI must name a local file, as in file:///data/orders-0")
    return unquote(parts.path)

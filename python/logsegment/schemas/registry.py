"""The schemas of a registry over HTTP: Confluent's API, which Karapace and Apicurio (below `/apis/ccompat/v7`) have too.

Apicurio's own API, next to it, has the global ids of schemas.

All schemas are read once, when the set is made. The set asks nothing later, so that it can be pickled and sent to workers; only
`SchemaSet.register` does.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import UUID

from logsegment._options import Framing
from logsegment.schemas.model import Schema, SchemaReference, SchemaSet, SubjectVersion
from logsegment.schemas.registry_log import context_of, guid_of

if TYPE_CHECKING:
    import httpx

#: The code of the API for a subject, a version or a schema that is not there (any more).
_NOT_FOUND = 404
#: Most bytes of one answer.
_MOST_BYTES = 64 << 20
#: In a URL of Apicurio: its API that is Confluent's, and its own.
_COMPATIBLE, _OWN = "/apis/ccompat/", "/apis/registry/"
#: Versions in one answer of Apicurio's own API.
_MOST_VERSIONS = 500
#: Most characters of a reason in an error.
_MOST_REASON = 500
#: What reading an answer that is not one of a registry raises.
_ODD = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


def from_registry(
    url: str,
    *,
    subjects: list[str] | None = None,
    auth: tuple[str, str] | None = None,
    bearer: str | None = None,
    headers: Mapping[str, str] | None = None,
    ca_file: str | None = None,
    client_certificate: tuple[str, str] | None = None,
    timeout: float = 10.0,
    max_requests: int = 100_000,
    max_bytes: int = 1 << 30,
    max_depth: int = 100,
    max_seconds: float = 600.0,
    framing: Framing = "auto",
) -> SchemaSet:
    """Read the schemas of a registry over HTTP. Nothing is written to the registry; `SchemaSet.register` writes to it.

    Args:
        url: of the registry, such as `https://registry:8081`, or `http://apicurio:8080/apis/ccompat/v7`.
        subjects: the subjects to read, with all schemas that they refer to; None for all.
        auth: user and password of basic authentication.
        bearer: a token, instead of `auth`.
        headers: further headers of each request.
        ca_file: certificates of authorities that the registry's certificate is verified with; None for those of the system.
        client_certificate: files of a certificate and its key, for TLS with client authentication.
        timeout: seconds to wait for the next bytes of an answer.
        max_requests: most requests of all.
        max_bytes: most bytes of all answers; one answer has 64 MiB at most.
        max_depth: most schemas that refer to each other in a chain.
        max_seconds: seconds that all requests may take.
        framing: see `SchemaSet`.

    Returns:
        A `SchemaSet`, as `from_log` gives it for the log of the same registry. Softly deleted versions are in it with their state;
        versions that were deleted for good are not, which only the log knows. Pickled, it does not have the password or token.

    Raises:
        ImportError: if httpx is not installed; `pip install "logsegment[registry]"`.
        ValueError: if an argument is invalid, the answer is not one of a registry, or there is more than `max_requests`, `max_bytes` or
            `max_depth` allow. The text has the URL.
        OSError: if the registry cannot be reached, or refuses the request; TimeoutError after `max_seconds`. The text does not have the
            password or token.

    Example:
        >>> import logsegment as ls
        >>> ls.schemas.from_registry("ftp://registry")
        Traceback (most recent call last):
        ...
        ValueError: url must begin with http:// or https://, not 'ftp://registry'

    Source: the API reference of Confluent's schema registry.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must begin with http:// or https://, not {url!r}")
    if auth is not None and bearer is not None:
        raise ValueError("auth and bearer exclude each other")
    given = dict(headers or {}) | ({} if bearer is None else {"Authorization": f"Bearer {bearer}"})
    options: dict[str, Any] = {"auth": auth, "headers": given, "timeout": timeout}
    bounds = _Bounds(max_requests, max_bytes, max_depth, max_seconds)

    def register(subject: str, schema: Schema) -> int:
        with _opened(url, options, ca_file, client_certificate) as client:
            return _Registry(client, bounds).register(subject, schema)

    with _opened(url, options, ca_file, client_certificate) as client:
        return SchemaSet(tuple(_Registry(client, bounds).schemas(subjects)), framing, register)


@dataclass(frozen=True)
class _Bounds:
    """What all requests to a registry may take.

    Raises:
        ValueError: if a bound is not above 0.
    """

    max_requests: int
    max_bytes: int
    max_depth: int
    max_seconds: float

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"{name} must be above 0, not {value!r}")


class _Registry:
    """The answers of one registry; each schema is asked for once."""

    def __init__(self, client: httpx.Client, bounds: _Bounds) -> None:
        self.client = client
        url = client.base_url
        self.place = str(url.copy_with(userinfo=b"")).rstrip("/")
        self.bounds = bounds
        self.requests = 0
        self.bytes = 0
        self.end = time.monotonic() + bounds.max_seconds
        self.found: dict[tuple[str, int], Schema] = {}
        self.versions: dict[tuple[str, int], list[SubjectVersion]] = {}
        self.read: set[str] = set()
        self.global_ids: dict[int, set[int]] = {}

    def schemas(self, subjects: list[str] | None) -> Iterator[Schema]:
        """Yield the schemas of subjects by context and id, each with its versions."""
        # Bytes that come one by one reset every other timeout.
        watch = threading.Timer(self.bounds.max_seconds, self.client.close)
        watch.daemon = True
        watch.start()
        try:
            for subject in self._names() if subjects is None else subjects:
                self._read(subject, 1)
        finally:
            watch.cancel()
        for (context, schema_id), schema in sorted(self.found.items(), key=lambda item: item[0]):
            versions = tuple(sorted(self.versions[context, schema_id]))
            global_ids = tuple(sorted(self.global_ids.get(schema_id, ()))) if context == "" else ()
            yield replace(schema, versions=versions, global_ids=global_ids)

    def register(self, subject: str, schema: Schema) -> int:
        """Register a schema, and return its id.

        Raises:
            OSError: if the registry cannot be reached or refuses.
            ValueError: if the answer has no id.
        """
        path = f"/subjects/{quote(subject, safe='')}/versions"
        references = [
            {"name": reference.name, "subject": reference.subject, "version": reference.version} for reference in schema.references
        ]
        body = {"schema": schema.text, "schemaType": schema.type} | ({"references": references} if references else {})
        answer = self._answer("POST", path, content=json.dumps(body), headers={"Content-Type": _CONTENT_TYPE})
        found = answer.get("id") if isinstance(answer, dict) else None
        try:
            return _number(found)
        except (TypeError, ValueError):
            raise self._not_a_registry(path, TypeError("no id")) from None

    def _names(self) -> list[str]:
        # The wildcard asks for the subjects of all contexts, where the registry has contexts.
        return self._texts("/subjects", deleted="true", subjectPrefix=":*:") or self._texts("/subjects", deleted="true")

    def _read(self, subject: str, depth: int) -> None:
        if subject in self.read:
            return
        self.read.add(subject)
        path = f"/subjects/{quote(subject, safe='')}/versions"
        if depth > self.bounds.max_depth:
            raise self._too_much("max_depth", path)
        live, ids = set(self._numbers(path)), set[int]()
        for version in self._numbers(path, deleted="true") or sorted(live):
            entry = self._get(f"{path}/{version}", deleted="true")
            if entry is None:
                continue
            try:
                schema = _schema(entry)
            except _ODD as error:
                raise self._not_a_registry(f"{path}/{version}", error) from None
            place = context_of(subject), schema.id or 0
            self.found.setdefault(place, replace(schema, context=place[0]))
            self.versions.setdefault(place, []).append(SubjectVersion(subject, version, "live" if version in live else "deleted"))
            ids.add(place[1])
            for reference in schema.references:
                self._read(reference.subject, depth + 1)
        for content_id, global_id in self._global_ids(subject):
            # Unless the API gives global ids as ids, which a server can be set to.
            if content_id in ids:
                self.global_ids.setdefault(content_id, set()).add(global_id)

    def _global_ids(self, subject: str) -> list[tuple[int, int]]:
        """Return the content id and the global id of each version of a subject, which Apicurio's own API has; none of another registry."""
        for api in ("v3", "v2") if _COMPATIBLE in self.place else ():
            path = f"{_OWN}{api}/groups/default/artifacts/{quote(subject, safe='')}/versions"
            pairs: list[tuple[int, int]] = []
            while found := self._get(path, limit=f"{_MOST_VERSIONS}", offset=f"{len(pairs)}"):
                try:
                    more = [(_number(row["contentId"], bits=64), _number(row["globalId"], bits=64)) for row in found["versions"]]
                    pairs += more
                    if not more or len(pairs) >= _number(found["count"], bits=64):
                        return pairs
                except _ODD as error:
                    raise self._not_a_registry(path, error) from None
        return []

    def _texts(self, path: str, **parameters: str) -> list[str]:
        """Return the texts of an answer; none for what is not there."""
        return self._items(path, _text, parameters)

    def _numbers(self, path: str, **parameters: str) -> list[int]:
        """Return the numbers of an answer; none for what is not there."""
        return self._items(path, _number, parameters)

    def _items(self, path: str, kind: Any, parameters: dict[str, str]) -> list[Any]:
        found = self._get(path, **parameters)
        if found is None:
            return []
        try:
            if not isinstance(found, list):
                raise TypeError("not a list")
            return [kind(entry) for entry in found]
        except _ODD as error:
            raise self._not_a_registry(path, error) from None

    def _get(self, path: str, **parameters: str) -> Any:
        """Return an answer; None for what is not there.

        Raises:
            OSError: if the registry cannot be reached or refuses.
            ValueError: if the answer is not JSON.
        """
        return self._answer("GET", path, params=parameters)

    def _answer(self, method: str, path: str, **request: Any) -> Any:
        import httpx

        self.requests += 1
        if self.requests > self.bounds.max_requests:
            raise self._too_much("max_requests", path)
        try:
            self._ensure_time(path)
            with self.client.stream(method, self._url(path), **request) as answer:
                if answer.status_code == _NOT_FOUND and method == "GET":
                    return None
                content = self._content(path, answer)
                if not answer.is_success:
                    reason = f"{answer.status_code} {answer.reason_phrase}{_reason(content) if method == 'POST' else ''}"
                    raise OSError(f"the registry at {self.place} refuses {path}: {reason}")
        except (httpx.HTTPError, httpx.StreamError, RuntimeError, httpx.InvalidURL) as error:
            # The client was closed in the middle of an answer.
            self._ensure_time(path)
            if isinstance(error, httpx.InvalidURL):
                raise self._not_a_registry(path, error) from None
            raise OSError(f"the registry at {self.place} cannot be reached: {error}") from None
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._not_a_registry(path, error) from None

    def _content(self, path: str, answer: httpx.Response) -> bytearray:
        """Return the bytes of an answer.

        Raises:
            ValueError: if there are too many.
            TimeoutError: if all answers take too long.
        """
        content = bytearray()
        for part in answer.iter_bytes():
            content += part
            self.bytes += len(part)
            self._ensure_time(path)
            if len(content) > _MOST_BYTES:
                raise ValueError(f"the answer of the registry at {self.place} to {path} has more than {_MOST_BYTES} bytes")
            if self.bytes > self.bounds.max_bytes:
                raise self._too_much("max_bytes", path)
        return content

    def _ensure_time(self, path: str) -> None:
        if time.monotonic() >= self.end:
            bound = f"max_seconds={self.bounds.max_seconds:g}"
            raise TimeoutError(f"the registry at {self.place} takes longer than {bound}, at {path}; pass a greater max_seconds")

    def _too_much(self, bound: str, path: str) -> ValueError:
        return ValueError(f"the registry at {self.place} has more than {bound}={getattr(self.bounds, bound)} allows, at {path}")

    def _url(self, path: str) -> httpx.URL | str:
        """Return the URL of a path, below the one that was given unless the path is of Apicurio's own API."""
        if not path.startswith(_OWN):
            return path
        url = self.client.base_url
        root, _, _ = url.raw_path.partition(_COMPATIBLE.encode())
        return url.copy_with(raw_path=root + path.encode())

    def _not_a_registry(self, path: str, error: Exception) -> ValueError:
        text = f"{error}".encode("ascii", "backslashreplace").decode()[:_MOST_REASON]
        return ValueError(f"{self.place} is not a schema registry: its answer to {path}: {type(error).__name__}: {text}")


def _reason(content: bytearray) -> str:
    """Return what a registry says about a schema that it refuses."""
    try:
        message = json.loads(content)["message"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return ""
    return f": {str(message)[:_MOST_REASON]}"


def _schema(entry: Any) -> Schema:
    """Return the schema of an answer.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: if it is not one.
    """
    text, references = _text(entry["schema"]), tuple(_reference(each) for each in entry.get("references") or ())
    given = entry.get("guid")
    extras = {name: entry.get(name) for name in ("metadata", "ruleSet")}
    guid = guid_of(text, references, extras) if given is None else str(UUID(_text(given)))
    return Schema(entry.get("schemaType") or "AVRO", text, _number(entry["id"]), guid, references)


def _reference(entry: Any) -> SchemaReference:
    return SchemaReference(_text(entry["name"]), _text(entry["subject"]), _number(entry["version"]))


def _text(value: Any) -> str:
    """Return a text that can be written as UTF-8, without lone surrogates."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of a text")
    value.encode()
    return value


def _number(value: Any, bits: int = 32) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{type(value).__name__} in place of a number")
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise ValueError(f"a number of more than {bits} bits")
    return value


@contextmanager
def _opened(url: str, options: dict[str, Any], ca_file: str | None, certificate: tuple[str, str] | None) -> Iterator[httpx.Client]:
    """Open a client with a TLS context of its own."""
    try:
        import httpx
    except ModuleNotFoundError:
        raise ImportError('schemas.from_registry needs httpx: pip install "logsegment[registry]"') from None
    # Few reads need it, and its import takes longer than that of this package.
    context = import_module("ssl").create_default_context(cafile=None if ca_file is None else str(Path(ca_file)))
    if certificate is not None:
        context.load_cert_chain(*certificate)
    with httpx.Client(base_url=url.rstrip("/"), verify=context, **options) as client:
        yield client

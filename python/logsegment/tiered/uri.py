"""URIs of uploaded segments: `tiered+` before the URI of the objects, and keys and layout in settings, which are never printed.

`tiered+s3://user!region=eu&keys=...@bucket/prefix/...` reads the objects of `s3://bucket/prefix/...` as log directories, and
`tiered+file:///data/...` those of a local directory.
"""

from __future__ import annotations

import os

from logsegment._core import layout_text, uploaded_data_key
from logsegment.stores.uri import TIERED, StoreUri, file_uri, is_stored, is_tiered, joined, parts_of, placed
from logsegment.tiered.keys import KeyRing, Keys, ring_of_text

_KEYS = "keys"
_LAYOUT = "layout"


def tiered(path: str | os.PathLike[str], keys: Keys | KeyRing | None = None, layout: str | None = None) -> StoreUri:
    """Return the URI of uploaded segments.

    Args:
        path: path or URI of the objects; a result of `tiered` keeps its keys and layout if none are given. A relative path stays relative.
        keys: the private keys by their ids.
        layout: template of the names of objects; see `logsegment.Log`.

    Raises:
        TypeError: if `keys` is not a mapping of ids to keys, or `layout` is not text.
        ValueError: if the layout is invalid.
    """
    place = placed(path)
    if is_tiered(place):
        ring = KeyRing.of_text(_setting(place, _KEYS)) if keys is None else _ring(keys)
        parts = parts_of(place)
    else:
        ring = _ring(keys)
        if not is_stored(place):
            place = file_uri(place)
        parts = parts_of(place)
        parts = parts._replace(scheme=TIERED + parts.scheme)
    text = _setting(place, _LAYOUT) if layout is None else layout_text(layout)
    settings = [setting for setting in parts.query.split("&") if setting and not setting.startswith((f"{_KEYS}=", f"{_LAYOUT}="))]
    settings += [f"{name}={value}" for name, value in ((_KEYS, ring.to_text()), (_LAYOUT, text)) if value]
    return joined(parts._replace(query="&".join(settings)))


def with_settings_of(path: str, uri: str) -> StoreUri:
    """Return the URI of uploaded segments with the keys and the layout of another one."""
    parts = parts_of(tiered(path))
    settings = [setting for setting in parts_of(uri).query.split("&") if setting.startswith((f"{_KEYS}=", f"{_LAYOUT}="))]
    return joined(parts._replace(query="&".join(filter(None, [parts.query, *settings]))))


def without_layout(uri: str) -> str:
    """Return a path or URI without the layout that it may carry."""
    if not is_tiered(uri):
        return uri
    parts = parts_of(uri)
    settings = [setting for setting in parts.query.split("&") if not setting.startswith(f"{_LAYOUT}=")]
    return joined(parts._replace(query="&".join(settings)))


def with_data_key(uri: str) -> StoreUri:
    """Return the URI of an upload with the data key of its segment instead of private keys.

    Raises:
        SegmentKeyError: if its key is missing or wrong.
        OSError: if the store does not answer.
    """
    text = uploaded_data_key(uri[:])
    return tiered(uri, KeyRing.of_text(text or ""))


def ring_of(uri: str) -> KeyRing:
    """Return the keys in a URI."""
    return ring_of_text(_setting(uri, _KEYS))


def _ring(keys: Keys | KeyRing | None) -> KeyRing:
    return keys if isinstance(keys, KeyRing) else KeyRing(keys or {})


def _setting(uri: str, wanted: str) -> str:
    settings = (setting.partition("=") for setting in parts_of(uri).query.split("&"))
    return next((value for name, _, value in settings if name == wanted), "")

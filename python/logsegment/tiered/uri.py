"""URIs of uploaded segments: `tiered+` before the URI of the objects, and the keys in a setting, which is never printed.

`tiered+s3://user!region=eu&keys=...@bucket/prefix/...` reads the objects of `s3://bucket/prefix/...` as log directories, and
`tiered+file:///data/...` those of a local directory.
"""

from __future__ import annotations

import os

from logsegment._core import uploaded_data_key
from logsegment.stores.uri import TIERED, StoreUri, file_uri, is_stored, is_tiered, joined, parts_of, placed
from logsegment.tiered.keys import KeyRing, Keys, ring_of_text

_KEYS = "keys"


def tiered(path: str | os.PathLike[str], keys: Keys | KeyRing | None = None) -> StoreUri:
    """Return the URI of uploaded segments.

    Args:
        path: path or URI of the objects; a result of `tiered` keeps its keys if none are given. A relative path stays relative.
        keys: the private keys by their ids.

    Raises:
        TypeError: if `keys` is not a mapping of ids to keys.
    """
    place = placed(path)
    if is_tiered(place):
        ring = KeyRing.of_text(_setting(place)) if keys is None else _ring(keys)
        parts = parts_of(place)
    else:
        ring = _ring(keys)
        if not is_stored(place):
            place = file_uri(place)
        parts = parts_of(place)
        parts = parts._replace(scheme=TIERED + parts.scheme)
    settings = [setting for setting in parts.query.split("&") if setting and not setting.startswith(f"{_KEYS}=")]
    return joined(parts._replace(query="&".join([*settings, *([f"{_KEYS}={ring.to_text()}"] if ring.to_text() else [])])))


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
    return ring_of_text(_setting(uri))


def _ring(keys: Keys | KeyRing | None) -> KeyRing:
    return keys if isinstance(keys, KeyRing) else KeyRing(keys or {})


def _setting(uri: str) -> str:
    settings = (setting.partition("=") for setting in parts_of(uri).query.split("&"))
    return next((value for name, _, value in settings if name == _KEYS), "")

"""The data keys of encrypted uploads, which the core asks for: only the key ring of the caller has private keys."""

import importlib

from logsegment._core import use_key_ring


def data_key(ring: str, key_id: str, wrapped: bytes, name: str) -> bytes:
    """Return the data key of a segment.

    Args:
        ring: the text of a key ring.
        key_id: the id of the private key that decrypts the data key.
        wrapped: the encrypted data key.
        name: of the segment, for errors.

    Raises:
        SegmentKeyError: if there is no key of that id, or it is the wrong key.
        OSError: if its file cannot be read.
    """
    # Few processes read uploads.
    keys = importlib.import_module("logsegment.tiered.keys")
    unwrapped: bytes = keys.ring_of_text(ring).data_key(key_id, wrapped, name)
    return unwrapped


use_key_ring(data_key)

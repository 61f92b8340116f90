"""OAEP unpadding with SHA3-512 (TS-30, TS-31): the package `cryptography` refuses this hash, so the block is opened here.

For a file that its owner reads there is nobody to whom an answer could tell anything; all faults are one all the same.
"""

from __future__ import annotations

import hashlib

_HASH = hashlib.sha3_512
_LENGTH = _HASH().digest_size


def unpadded(block: bytes) -> bytes | None:
    """The message in an encoded block of RFC 8017, section 7.1.2, with an empty label; None when it holds none.

    Args:
        block: as long as the modulus of the key.
    """
    if len(block) < 2 * _LENGTH + 2:
        return None
    masked_seed, masked_data = block[1 : 1 + _LENGTH], block[1 + _LENGTH :]
    seed = _xor(masked_seed, _mask(masked_data, _LENGTH))
    data = _xor(masked_data, _mask(seed, len(masked_data)))
    padding, mark, message = data[_LENGTH:].partition(b"\x01")
    is_good = block[0] == 0 and data[:_LENGTH] == _HASH(b"").digest() and mark == b"\x01" and not any(padding)
    return message if is_good else None


def _mask(seed: bytes, length: int) -> bytes:
    """MGF1."""
    blocks = (_HASH(seed + counter.to_bytes(4)).digest() for counter in range(-(-length // _LENGTH)))
    return b"".join(blocks)[:length]


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) ^ int.from_bytes(other)).to_bytes(len(one))

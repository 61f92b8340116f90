"""Private keys by the id that a manifest names (TS-32), and the data keys that they decrypt (TS-29 to TS-31).

No error and no printed ring contains a part of a key.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from logsegment._core import Place, SegmentKeyError
from logsegment._places import is_stored, redacted_uri

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

#: For each id a file (PEM or DER, PKCS#8), here or in a store, or the content of such a file.
Keys: TypeAlias = Mapping[str, str | os.PathLike[str] | bytes]

#: Begins the text of data keys of single segments.
DATA_KEYS = "data."
_PEM = "-----BEGIN"
_MAX_BYTES = 1 << 20
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+=*")
_MIN_LETTERS = 64
_MAX_NAME = 200
#: AES-256.
_DATA_KEY_BYTES = 32


class KeyRing:
    """Private keys by their ids. A key is read when a segment needs it.

    Args:
        keys: for each id a path, or the key itself as PEM text or as bytes (PEM, DER).

    Raises:
        TypeError: if `keys` is not such a mapping.
        ValueError: if a text is a key without its PEM lines. The error does not contain the text.
    """

    def __init__(self, keys: Keys) -> None:
        if not isinstance(keys, Mapping):
            raise TypeError(f"keys must be a mapping of the ids of keys to files or keys, not {type(keys).__name__}")
        self._keys = {_id(key_id): _given(key_id, key) for key_id, key in keys.items()}
        # Of single segments: the core reads them.
        self._data_keys = ""

    @property
    def ids(self) -> list[str]:
        """Return the ids, in order."""
        return sorted(self._keys)

    def data_key(self, key_id: str, wrapped: bytes, name: str) -> bytes:
        """Return the data key of a segment.

        Args:
            key_id: of the manifest.
            wrapped: the encrypted data key.
            name: of the segment, for the error.

        Raises:
            SegmentKeyError: if there is no key of that id, or it is the wrong key.
            OSError: if its file cannot be read.
        """
        if key_id not in self._keys:
            there = f"the given keys are {', '.join(self.ids)}" if self._keys else "no keys were given"
            raise SegmentKeyError(f"{name} is encrypted under the key {key_id!r}: {there}")
        given = self._keys[key_id]
        der = given if isinstance(given, bytes) else _read(given)
        try:
            key = _data_key(der, wrapped)
        except ImportError:
            raise
        except Exception:
            # The error of a library might contain a part of the key.
            raise SegmentKeyError(f"the key {key_id!r} is not an RSA private key (PKCS#8 in PEM or DER, without a password)") from None
        if key is None or len(key) != _DATA_KEY_BYTES:
            text = f"{name} is encrypted under the key {key_id!r}: the given key of this id does not decrypt it"
            raise SegmentKeyError(text)
        return key

    def to_text(self) -> str:
        """Return the ring as letters, digits, `-` and `_`."""
        if self._data_keys:
            return self._data_keys
        members = {key_id: [key] if isinstance(key, str) else base64.b64encode(key).decode() for key_id, key in self._keys.items()}
        return base64.urlsafe_b64encode(json.dumps(members, sort_keys=True).encode()).decode().rstrip("=") if members else ""

    @classmethod
    def of_text(cls, text: str) -> KeyRing:
        """Return the ring of the text of `to_text`, or of the text of the data key of a segment."""
        if text.startswith(DATA_KEYS):
            ring = cls({})
            ring._data_keys = text
            return ring
        members = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))) if text else {}
        return cls({key_id: key[0] if isinstance(key, list) else base64.b64decode(key) for key_id, key in members.items()})

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self.ids)})"


@lru_cache(maxsize=64)
def ring_of_text(text: str) -> KeyRing:
    """Return the ring of the text of `KeyRing.to_text`."""
    return KeyRing.of_text(text)


def _id(key_id: object) -> str:
    if not isinstance(key_id, str) or not key_id.strip():
        raise TypeError("the ids of keys must be texts that are not blank")
    return key_id


def is_bare_key(text: str) -> bool:
    """Return True for a text that is a key without its PEM lines, or a part of a key, and must not be printed as a path."""
    letters = "".join(text.split())
    is_base64 = _BASE64.fullmatch(letters) is not None
    # DER of an RSA key begins with 30 82; a relative path has not so many letters without a dot.
    is_key = (len(letters) >= _MIN_LETTERS and letters.startswith("MI")) or (len(letters) >= _MAX_NAME and not letters.startswith("/"))
    return (is_base64 and is_key) or "PRIVATE KEY-----" in text


def _given(key_id: str, key: object) -> str | bytes:
    """Return the absolute path of a key, or its bytes."""
    if isinstance(key, bytes):
        return key
    if isinstance(key, str) and _PEM in key:
        return key.encode()
    if isinstance(key, str) and is_bare_key(key):
        raise ValueError(f"the key {key_id!r} is not a path, and as PEM text it lacks the line -----BEGIN PRIVATE KEY-----")
    if isinstance(key, (str, os.PathLike)):
        return Place(key).absolute().path[:]
    raise TypeError(f"the key {key_id!r} must be a path, or the key as PEM text or bytes")


def _read(path: str) -> bytes:
    if not is_stored(path):
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES)
    data = Place(path).read()
    if data is None:
        raise FileNotFoundError(2, os.strerror(2), redacted_uri(path))
    return bytes(data)


@lru_cache(maxsize=16)
def _private_key(data: bytes) -> RSAPrivateKey:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    except ImportError:
        raise ImportError('encrypted segments need cryptography: pip install "logsegment[tiered]"') from None
    load = serialization.load_pem_private_key if _PEM.encode() in data else serialization.load_der_private_key
    key = load(data, password=None)
    if not isinstance(key, RSAPrivateKey):
        raise TypeError
    return key


@lru_cache(maxsize=1024)
def _data_key(der: bytes, wrapped: bytes) -> bytes | None:
    """Decrypt once: one look-up opens the objects of a segment several times, and this takes longer than all the rest of it."""
    return _decrypted(_private_key(der), wrapped)


def _decrypted(key: RSAPrivateKey, wrapped: bytes) -> bytes | None:
    """Decrypt a message with RSA-OAEP; return None if the key or the message is wrong."""
    numbers = key.private_numbers()
    modulus = numbers.public_numbers.n
    length = (modulus.bit_length() + 7) // 8
    value = int.from_bytes(wrapped)
    if len(wrapped) != length or value >= modulus:
        return None
    # By the Chinese remainder theorem. No blinding: the owner of the key reads a file, and nobody measures the time.
    first = pow(value, numbers.dmp1, numbers.p)
    second = pow(value, numbers.dmq1, numbers.q)
    block = second + numbers.q * (((first - second) * numbers.iqmp) % numbers.p)
    return _unpadded(block.to_bytes(length))


_HASH = hashlib.sha3_512
_LENGTH = _HASH().digest_size


def _unpadded(block: bytes) -> bytes | None:
    """Return the message in an encoded block of RFC 8017, section 7.1.2, with an empty label; None if the block is invalid.

    The package `cryptography` refuses OAEP with SHA3-512 (TS-30, TS-31). All errors look alike.

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
    """Return the mask of MGF1."""
    blocks = (_HASH(seed + counter.to_bytes(4)).digest() for counter in range(-(-length // _LENGTH)))
    return b"".join(blocks)[:length]


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) ^ int.from_bytes(other)).to_bytes(len(one))

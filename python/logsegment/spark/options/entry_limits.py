"""What one entry may claim, as options of a read: the arguments of `logsegment.Limits` under their own names, behind a prefix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from logsegment._core import Limits

_PREFIX = "limits."
_NAMES = ("max_batch_bytes", "max_decompressed_bytes", "max_ratio", "max_records", "max_headers", "max_nesting")
#: Names of the options.
ENTRY_LIMITS = tuple(f"{_PREFIX}{name}" for name in _NAMES)
_UNLIMITED = "unlimited"


def limits_option(options: Mapping[str, str]) -> Limits | None:
    """The limits of a query; None when no option sets one.

    Args:
        options: Spark's options, names in lower case.

    Raises:
        ValueError: for a value that is neither a whole number nor `unlimited`, or that the limit cannot have.
    """
    given: dict[str, Any] = {name: _limit(_PREFIX + name, options[_PREFIX + name]) for name in _NAMES if _PREFIX + name in options}
    if not given:
        return None
    try:
        return Limits(**given)
    except ValueError as error:
        raise ValueError(f"option {_PREFIX}{error}") from None


def _limit(option: str, text: str) -> int | str:
    word = text.strip().lower()
    if word == _UNLIMITED:
        return _UNLIMITED
    if not word.isdecimal() or int(word) >= 2**64:
        raise ValueError(f"option {option} must be a whole number or {_UNLIMITED}, not {text!r}")
    return int(word)

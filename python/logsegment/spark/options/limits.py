"""The options `limits.*` of the data source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from logsegment._core import Limits
from logsegment._options import LIMIT_NAMES
from logsegment.spark.options.names import LIMIT_PREFIX

_UNLIMITED = "unlimited"


def limits_of(options: Mapping[str, str]) -> Limits | None:
    """Parse the options `limits.*`; None if there is none.

    Raises:
        ValueError: if a limit is not a number.
    """
    names = {name: LIMIT_PREFIX + name for name in LIMIT_NAMES if LIMIT_PREFIX + name in options}
    given: dict[str, Any] = {name: _limit(option, options[option]) for name, option in names.items()}
    if not given:
        return None
    try:
        return Limits(**given)
    except ValueError as error:
        raise ValueError(f"option {LIMIT_PREFIX}{error}") from None


def _limit(option: str, text: str) -> int | str:
    word = text.strip().lower()
    if word == _UNLIMITED:
        return _UNLIMITED
    if not word.isdecimal() or int(word) >= 2**64:
        raise ValueError(f"option {option} must be a whole number or {_UNLIMITED}, not {text!r}")
    return int(word)

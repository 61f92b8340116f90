"""Numbers with their nouns, and names one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any


def count(number: int, noun: str) -> str:
    """`1 batch`, `2 batches`, `3 entries`, `15,480,000 records`."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:,} {noun}"


def listed(names: Sequence[str], most: int) -> str:
    """`a, b, c`, or of more than `most` the first: `a, b and 7 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def camel_case(name: str) -> str:
    """Return a name as JSON and Arrow columns have it: `base_offset` becomes `baseOffset`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def plain_values(value: Any) -> Any:
    """Return a value as plain Python, ready for JSON: the attributes of dataclasses in camel case, the keys of dicts as they are."""
    if is_dataclass(value):
        return {camel_case(field.name): plain_values(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: plain_values(item) for key, item in value.items()}
    return [plain_values(item) for item in value] if isinstance(value, list | tuple) else value

"""Numbers with their nouns."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """`1 batch`, `2 batches`, `3 entries`, `15,480,000 records`."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:,} {noun}"

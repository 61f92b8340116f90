"""What is said on stderr."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Write one line about this program's work, marked with its name."""
    # Without a stderr `print` would write into the data.
    if sys.stderr is not None:
        print(f"logsegment: {printable(text)}", file=sys.stderr)


def printable(text: str) -> str:
    """Text without control characters: a file name must not move the cursor of a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def count(number: int, noun: str) -> str:
    """`1 batch`, `2 batches`, `3 entries`, `15,480,000 records`."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:,} {noun}"

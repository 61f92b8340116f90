"""What is said on stderr."""

from __future__ import annotations

import sys

from logsegment._words import count as count


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

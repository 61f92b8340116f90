"""Text and JSON on the two outputs. Nothing that comes from a file or its name commands a terminal: it is escaped here."""

from __future__ import annotations

import json
import re
import sys

from logsegment._text import count as count

#: What Python makes of a byte of a path that is not UTF-8.
_UNDECODED = re.compile("[\ud800-\udfff]")


def say(text: str) -> None:
    """Write one line about this program's work to stderr, marked with its name."""
    # Without a stderr `print` would write into the data.
    if sys.stderr is not None:
        print(f"logsegment: {printable(text)}", file=sys.stderr)


def show(text: str) -> None:
    """Write one line of text to stdout."""
    sys.stdout.write(printable(text) + "\n")


def show_json(value: object) -> None:
    """Write one line of JSON to stdout."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = _UNDECODED.sub(lambda char: json.dumps(_escaped(char[0]))[1:-1], text)
    show_json_lines(text.encode() + b"\n")


def show_json_lines(lines: bytes) -> None:
    r"""Write lines of JSON to stdout; to a terminal, with `\uXXXX` for each character that is not printable."""
    if sys.stdout.isatty():
        text = lines.decode()
        lines = "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text).encode()
    sys.stdout.buffer.write(lines)


def printable(text: str) -> str:
    r"""Return text with an escape for each character that is not printable, such as `\x1b`, `\u202e` or `\n`."""
    return text if text.isprintable() else "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")

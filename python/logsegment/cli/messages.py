"""Text and JSON on the two outputs. Nothing that comes from a file or its name commands a terminal: it is escaped here."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

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


def show_wrapped(text: str) -> None:
    """Write one line of text to stdout; on a terminal as several lines that are broken at spaces, so that no number is cut in two."""
    line = printable(text)
    if sys.stdout.isatty():
        width = get_terminal_size().columns
        line = "\n".join(wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)) or line
    sys.stdout.write(line + "\n")


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


class Console:
    """Lines and small tables for people on stdout: coloured on a terminal (unless NO_COLOR is set), as plain text everywhere else."""

    def __init__(self) -> None:
        self._console: Any = None
        if sys.stdout.isatty():
            from rich.console import Console

            self._console = Console(highlight=False, soft_wrap=True)

    def line(self, text: str, style: str | None = None) -> None:
        """Write one line."""
        if self._console and style:
            from rich.text import Text

            self._console.print(Text(printable(text), style))
        else:
            show(text)

    def pieces(self, pieces: Sequence[tuple[str, str | None]]) -> None:
        """Write one line of several pieces, each with its own style."""
        if self._console:
            from rich.text import Text

            self._console.print(Text.assemble(*((printable(text), style or "") for text, style in pieces)))
        else:
            show("".join(text for text, _ in pieces))

    def table(self, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write a table that is small enough to be measured first; its last column may be long."""
        rows = [[*map(printable, row)] for row in rows]
        if self._console:
            self._console.print(_rich_table(titles, rows), soft_wrap=False)
            return
        widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
        for row in (titles, *rows):
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            show(("  " + "  ".join(cells)).rstrip())


def _rich_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title in titles:
        is_last = title == titles[-1]
        table.add_column(Text(title), no_wrap=not is_last, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, STYLES.get(cell, "")) for cell in row))
    return table


#: Words that have a colour where they are a whole cell.
STYLES = {"error": "red", "warning": "yellow", "info": "cyan"}


def instant(millis: int) -> str:
    """Return a timestamp in UTC as text."""
    if millis == -1:
        return "-"
    return _iso_8601(millis) or f"{millis:,} ms"


def with_iso_times(value: Any, names: Collection[str]) -> Any:
    """Return a JSON value with the times of these names in ISO 8601, at any depth; null for no time, as numbers what has no date."""
    if isinstance(value, list):
        return [with_iso_times(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _iso_time(item) if name in names else with_iso_times(item, names) for name, item in value.items()}


def _iso_time(millis: int | None) -> str | int | None:
    return None if millis is None or millis == -1 else _iso_8601(millis) or millis


def _iso_8601(millis: int) -> str | None:
    """Return a time as text; None if it is in none of the years 1 to 9999."""
    try:
        return datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return None

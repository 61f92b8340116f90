"""Draw the plot of the README, the speed of readers as bars, in light and dark.

    python tools/speed_plot.py make
    python tools/speed_plot.py check

The figures are those of the table in README.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
README = ROOT / "README.md"
#: The row of the table with the most that the machine allows, and our own.
REFERENCE, OURS = "checksum + decompress + copy", "logsegment, in Python"
FONT = "font-family: system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


@dataclass(frozen=True)
class Theme:
    """The colours of a picture."""

    name: str
    paper: str
    text: str
    faint: str
    ours: str
    other: str
    last: str


LIGHT = Theme("light", "#ffffff", "#1f2328", "#59636e", "#2f6fde", "#9aa5b1", "#d0d7de")
DARK = Theme("dark", "#0d1117", "#e6edf3", "#9198a1", "#7aa7ff", "#7d8794", "#484f58")


def main() -> int:
    """Write or check the pictures; return the exit code."""
    found = dict(pictures())
    if sys.argv[1:] == ["make"]:
        PICTURES.mkdir(exist_ok=True)
        for path, text in found.items():
            path.write_text(text, encoding="utf-8")
        return 0
    if sys.argv[1:] != ["check"]:
        print(__doc__, file=sys.stderr)
        return 2
    stale = [path.name for path, text in found.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for name in stale:
        print(f"docs/pictures/{name} is not what the script draws: run `make plot`", file=sys.stderr)
    return 1 if stale else 0


def pictures() -> Iterator[tuple[Path, str]]:
    """Yield each picture with its text."""
    codecs, rows = speeds()
    for theme in (LIGHT, DARK):
        yield PICTURES / f"speed-{theme.name}.svg", speed(codecs, rows, theme)


def speeds() -> tuple[list[str], dict[str, list[int]]]:
    """Return the codecs, and the figures of each row of the table in the README."""
    (table,) = re.findall(r"<!-- benchmarks: begin.*?-->\n\n(.*?)\n\n<!-- benchmarks: end", README.read_text(encoding="utf-8"), re.DOTALL)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return cells[0][1:], {row[0]: [int(cell.replace(",", "")) for cell in row[1:]] for row in cells[2:]}


def speed(codecs: list[str], rows: dict[str, list[int]], theme: Theme) -> str:
    """Draw bars for each codec, as parts of the reference, which is a line."""
    readers = [name for name in rows if name != REFERENCE]
    colours = dict(zip(readers, (theme.ours, theme.other, theme.last), strict=True))
    left, bar, gap, y = 96, 14, 16, 66
    scale = 520 / max(value / rows[REFERENCE][at] for name in readers for at, value in enumerate(rows[name]))
    shapes = [text(16, 26, "Reading a segment into columns: uncompressed MB/s, one thread", theme, 15, "600"), *legend(colours, theme)]
    labels = []
    for at, codec in enumerate(codecs):
        shapes.append(text(16, y + 1.5 * bar + 3, codec, theme, 13, "600"))
        for name in readers:
            length = rows[name][at] / rows[REFERENCE][at] * scale
            shapes.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar - 3}" rx="2" fill="{colours[name]}"/>')
            labels.append(text(left + length + 6, y + bar - 4, f"{rows[name][at]:,}", theme, 11))
            y += bar
        y += gap
    line = f'x1="{left + scale:.1f}" y1="58" x2="{left + scale:.1f}" y2="{y - gap + 4}"'
    shapes.append(f'<line {line} stroke="{theme.text}" stroke-width="1.5" stroke-dasharray="5 3"/>')
    shapes += [*labels, text(left + scale, y + 4, REFERENCE, theme, 12, "600", anchor="middle")]
    values = ", ".join(f"{codec} {value:,}" for codec, value in zip(codecs, rows[REFERENCE], strict=True))
    shapes.append(text(704, y + 21, f"the same work by itself, in MB/s: {values}", theme, 11, anchor="end"))
    return svg(720, y + 34, f"Speed of {', '.join(readers)} compared with {REFERENCE}, by codec", shapes, theme)


def legend(colours: dict[str, str], theme: Theme) -> Iterator[str]:
    """Yield what the colours mean."""
    x = 96
    for name, colour in colours.items():
        yield f'<rect x="{x}" y="39" width="11" height="11" rx="2" fill="{colour}"/>'
        yield text(x + 16, 49, name, theme, 12)
        x += 34 + 7 * len(name)


def text(x: float, y: float, words: str, theme: Theme, size: int, weight: str = "400", anchor: str = "start") -> str:
    """Return a line of text, with a border of the colour of the paper, so that it can be read over a line."""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}"'
    colours = f'fill="{theme.text if size > 11 else theme.faint}" stroke="{theme.paper}" stroke-width="3" paint-order="stroke"'
    return f"<text {place} {colours}>{escape(words)}</text>"


def svg(width: int, height: int, title: str, shapes: list[str], theme: Theme) -> str:
    """Return a picture on its own paper, so that it does not depend on the page."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
    paper = f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="{theme.paper}" stroke="{theme.last}"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", paper, f'<g style="{FONT}">', *shapes, "</g>", "</svg>", ""])


if __name__ == "__main__":
    sys.exit(main())

"""A `Field` as HTML: a table that folds, with its own few colours for light and dark, and no script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from logsegment.inspect_text import hex_rows, value_text

if TYPE_CHECKING:
    from logsegment.inspecting import Field

STYLE = """
.ls-inspect{--line:#8884;--dim:#667;--mark:#b3261e;--warn:#8a5a00;--back:#b3261e14;color:inherit;font:13px/1.5 system-ui,sans-serif}
@media(prefers-color-scheme:dark){.ls-inspect{--dim:#9aa;--mark:#ff8a80;--warn:#ffc46b;--back:#ff8a8022}}
[data-theme=dark] .ls-inspect,[data-jp-theme-light=false] .ls-inspect{--dim:#9aa;--mark:#ff8a80;--warn:#ffc46b;--back:#ff8a8022}
.ls-inspect details{margin-left:1.2em}.ls-inspect summary{cursor:pointer}
.ls-inspect summary,.ls-inspect .f{border-top:1px solid var(--line);padding:1px 0}
.ls-inspect .f{margin-left:1.2em;padding-left:1.1em}
.ls-inspect code{font:12px ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;background:none;color:inherit}
.ls-inspect .p,.ls-inspect .n,.ls-inspect .b{color:var(--dim)}.ls-inspect .v{margin:0 .6em}
.ls-inspect .error{color:var(--mark)}.ls-inspect .warning{color:var(--warn)}
.ls-inspect .hurt{background:var(--back)}
"""


def fragment(root: Field) -> str:
    """The tree as a piece of HTML that stands by itself: no request, no script."""
    return f'<div class="ls-inspect"><style>{STYLE}</style>{"".join(_field(root, is_open=True))}</div>'


def page(root: Field, title: str, behind: Field | None = None) -> str:
    """The same as a whole page, perhaps with another tree behind it."""
    head = f'<meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
    rest = f"<h2>the next intact batch, byte {behind.start}</h2>{fragment(behind)}" if behind else ""
    return f"<!doctype html><html lang=en><head>{head}</head><body><h1>{escape(title)}</h1>{fragment(root)}{rest}</body></html>\n"


def _field(field: Field, *, is_open: bool = False) -> list[str]:
    hurt = " hurt" if field.problems else ""
    row = _row(field)
    if not field.children:
        return [f'<div class="f{hurt}">{row}</div>']
    inside = "".join("".join(_field(child, is_open=_is_opened(child))) for child in field.children)
    return [f"<details{' open' if is_open else ''}><summary class='{hurt.strip()}'>{row}</summary>{inside}</details>"]


def _is_opened(field: Field) -> bool:
    """Open what is damaged, and what holds the records."""
    return field.name in ("records", "decompressed") or any(below.problems for _, below in field.walk())


def _row(field: Field) -> str:
    count = "" if field.children else f' <code class="b">{escape(" ".join(hex_rows(field)))}</code>'
    value = value_text(field)
    parts = [
        f'<span class="p">{field.start}+{field.length}</span> <b>{escape(field.name)}</b>{count}',
        f' <code class="v">{escape(value)}</code>' if value else "",
        f' <span class="n">{escape(field.note)}</span>' if field.note else "",
        "".join(f'<div class="{escape(problem.severity)}">{escape(str(problem))}</div>' for problem in field.problems),
    ]
    return "".join(parts)

"""`Stats` as one HTML page: tables and plots in SVG, light and dark, without a script or a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from logsegment.counting import text, what_if
from logsegment.counting.stats import Histogram, Series, Stats
from logsegment.what_if import V3Savings

STYLE = """
:root{color-scheme:light dark;--ink:#1a1c20;--dim:#5b6270;--back:#fff;--card:#f4f5f8;--line:#d5d8e0;--bar:#2f6fde;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e7e9ee;--dim:#a2a9b8;--back:#14161a;--card:#1e2127;--line:#363b45;--bar:#7aa7ff;--bad:#ff8a80}}
body{margin:0 auto;max-width:72rem;padding:1.5rem;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.05rem;margin:0 0 .5rem}
section{background:var(--card);border-radius:8px;padding:1rem;margin:1rem 0;overflow-x:auto}
table{border-collapse:collapse}th,td{padding:.15rem .9rem .15rem 0;text-align:right;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{text-align:left}th,.dim{color:var(--dim);font-weight:normal}.bad{color:var(--bad)}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(26rem,1fr));gap:1rem}.grid section{margin:0}
svg{width:100%;height:auto;display:block}svg text{fill:var(--dim);font:11px system-ui,sans-serif}
svg .bar{fill:var(--bar)}svg .axis{stroke:var(--line);stroke-width:1}
"""
WIDTH, HEIGHT, LEFT, BOTTOM = 640, 200, 64, 22
Told = Callable[[int], str]


def page(stats: Stats, title: str, saved: V3Savings | None = None) -> str:
    """The whole page; with what the proposed format v3 would save, where that was asked."""
    plots = [
        _plot("Bytes over offsets", _series(stats.by_offset, 1), text.number, text.size),
        _plot("Records over offsets", _series(stats.by_offset, 2), text.number, text.number),
        _plot("Bytes over time", _series(stats.by_time, 1), text.time, text.size),
        _plot("Records over time", _series(stats.by_time, 2), text.time, text.number),
        _plot("Batches by size in bytes", _powers(stats.sizes), text.size, text.number, is_labelled=True),
        _plot("Batches by records", _powers(stats.counts), text.number, text.number, is_labelled=True),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{STYLE}</style>'
    body = [f"<h1>{escape(title)}</h1>", _summary(stats), f'<div class="grid">{"".join(plots)}</div>', _codecs(stats)]
    body += [_producers(stats), _gaps(stats), _damage(stats), _what_if(saved) if saved else ""]
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _summary(stats: Stats) -> str:
    rows = [
        ("bytes", f"{text.size(stats.bytes)} in {text.number(stats.files)} file(s)"),
        ("batches", text.number(stats.batches)),
        ("records", text.records_text(stats)),
        ("offsets", f"{text.number(stats.first_offset)} to {text.number(stats.last_offset)}; {text.offsets_text(stats)}"),
        ("times", f"{text.time(stats.first_time)} to {text.time(stats.last_time)} (UTC)"),
        ("order of times", text.order_text(stats)),
        ("batch size", text.histogram_text(stats.sizes, text.size)),
        ("records in a batch", text.histogram_text(stats.counts, text.number)),
        ("formats", ", ".join(f"{name}: {text.number(count)}" for name, count in sorted(stats.formats.items()))),
        ("transactions", text.transactions_text(stats).removeprefix("transactions ")),
    ]
    cells = "".join(f'<tr><td class="dim">{escape(name)}</td><td style="text-align:left">{escape(told)}</td></tr>' for name, told in rows)
    return f"<section><table>{cells}</table></section>"


def _codecs(stats: Stats) -> str:
    ordered = sorted(stats.codecs.items(), key=lambda item: -item[1].bytes)
    rows = [
        (name, text.number(codec.batches), text.number(codec.records), text.size(codec.bytes), _ratio(codec.ratio))
        for name, codec in ordered
    ]
    note = '<p class="dim">ratio: unpacked bytes for each packed one, of a sample of the batches</p>'
    return _table("Codecs", ("codec", "batches", "records", "bytes", "ratio"), rows, note)


def _producers(stats: Stats) -> str:
    ordered = sorted(stats.producers.items(), key=lambda item: -item[1].batches)
    rows = [
        (
            str(producer_id),
            str(one.epoch),
            text.number(one.batches),
            text.number(one.records),
            text.number(one.transactional),
            "yes" if one.is_open else "",
        )
        for producer_id, one in ordered[: text.SHOWN]
    ]
    left = len(ordered) - text.SHOWN
    note = f'<p class="dim">and {text.number(left)} more</p>' if left > 0 else ""
    return _table("Producers", ("producer id", "epoch", "batches", "records", "transactional batches", "no marker at the end"), rows, note)


def _gaps(stats: Stats) -> str:
    rows = [
        (gap.log, text.number(gap.first), text.number(gap.last), text.number(gap.last - gap.first + 1)) for gap in stats.gaps[: text.SHOWN]
    ]
    left = stats.gap_count - text.SHOWN
    note = f'<p class="dim">and {text.number(left)} more</p>' if left > 0 else ""
    return _table("Offsets that no batch covers", ("before a batch of", "first", "last", "offsets"), rows, note)


def _damage(stats: Stats) -> str:
    rows = [(one["file"], one["severity"], one["rule"], text.number(one["position"]), one["message"]) for one in stats.damage]
    left = sum(stats.damage_counts.values()) - len(rows)
    note = f'<p class="dim">and {text.number(left)} more</p>' if left else ""
    return _table("Damage", ("file", "severity", "rule", "byte", "what"), rows, note)


def _what_if(saved: V3Savings) -> str:
    note = f'<p class="dim">{escape(what_if.summary(saved))}. {escape(what_if.NOTE)}</p>'
    return _table("What if v3", what_if.COLUMNS, list(what_if.rows(saved)) if saved.batches else [("no batches", "", "", "")], note)


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], note: str) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<section><h2>{escape(title)}</h2><table><tr>{head}</tr>{body}</table>{note}</section>"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _series(series: Series, column: int) -> list[tuple[int, int]]:
    return [(point[0], point[column]) for point in series.points()]


def _powers(histogram: Histogram) -> list[tuple[int, int]]:
    """The upper end of each bucket, and its count."""
    if not histogram.counts:
        return []
    return [
        ((1 << bucket) - 1 if bucket else 0, histogram.counts.get(bucket, 0))
        for bucket in range(min(histogram.counts), max(histogram.counts) + 1)
    ]


def _plot(title: str, points: Sequence[tuple[int, int]], place: Told, value: Told, *, is_labelled: bool = False) -> str:
    """Bars side by side. Each says its numbers when it is pointed at."""
    if not points:
        return ""
    most = max(max(height for _, height in points), 1)
    step = (WIDTH - LEFT) / len(points)
    room = HEIGHT - BOTTOM - 12
    bars = []
    for index, (start, height) in enumerate(points):
        tall = max(room * height / most, 1.0 if height else 0.0)
        told = escape(f"{'up to ' if is_labelled else ''}{place(start)}: {value(height)}")
        x, y = LEFT + index * step, 12 + room - tall
        box = f'x="{x:.2f}" y="{y:.2f}" width="{max(step - 1, step * 0.8):.2f}" height="{tall:.2f}"'
        bars.append(f'<rect class="bar" {box}><title>{told}</title></rect>')
    ends = [(LEFT, "start", points[0][0]), (WIDTH, "end", points[-1][0])]
    marks = [f'<text x="{x}" y="{HEIGHT - 6}" text-anchor="{anchor}">{escape(place(at))}</text>' for x, anchor, at in ends[: len(points)]]
    marks.append(f'<text x="{LEFT - 6}" y="20" text-anchor="end">{escape(value(most))}</text>')
    axis = f'<line class="axis" x1="{LEFT}" y1="{HEIGHT - BOTTOM}" x2="{WIDTH}" y2="{HEIGHT - BOTTOM}"/>'
    drawing = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{"".join(bars)}{axis}{"".join(marks)}</svg>'
    return f"<section><h2>{escape(title)}</h2>{drawing}</section>"

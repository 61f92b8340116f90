"""`Stats` as one HTML page: tables and plots in SVG, light and dark, without a script or a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from logsegment._text import count as counted
from logsegment.analysis.stats import Histogram, Series, Stats
from logsegment.analysis.v3_savings import V3Savings
from logsegment.cli.output import stats_text as text

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
svg .bar{fill:var(--bar)}svg .late{fill:var(--bad)}svg .axis{stroke:var(--line);stroke-width:1}
"""


def page(stats: Stats, title: str) -> str:
    """Return the whole page."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{STYLE}</style>'
    body = [f"<h1>{escape(title)}</h1>", _summary(stats), f'<div class="grid">{"".join(plots_of(stats))}</div>', _codecs(stats)]
    body += [_producers(stats), _gaps(stats), _damage(stats), _what_if(stats.what_if) if stats.what_if else ""]
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _summary(stats: Stats) -> str:
    rows = [
        ("bytes", f"{text.size(stats.bytes)} in {counted(stats.files, 'file')}"),
        ("batches", text.number(stats.batches)),
        ("records", text.records_text(stats)),
        ("offsets", f"{text.number(stats.first_offset)} to {text.number(stats.last_offset)}; {text.offsets_text(stats)}"),
        ("times", f"{text.time(stats.first_time)} to {text.time(stats.last_time)} (UTC)"),
        ("order of times", text.order_text(stats)),
        ("batch size", text.histogram_text(stats.sizes, text.size)),
        ("records in a batch", text.histogram_text(stats.counts, text.number)),
        ("formats", text.formats(stats)),
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
    note = f'<p class="dim">{escape(text.v3_summary(saved))}. {escape(text.V3_NOTE)}</p>'
    return _table("What if v3", text.V3_COLUMNS, list(text.v3_rows(saved)) if saved.batches else [("no batches", "", "", "")], note)


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], note: str) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<section><h2>{escape(title)}</h2><table><tr>{head}</tr>{body}</table>{note}</section>"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 200, 64, 12, 22
ROOM = HEIGHT - BOTTOM - TOP
Told = Callable[[int], str]


@dataclass(frozen=True)
class Bar:
    """One bar: from where to where it reaches, as parts of the plot's height, and what it says."""

    low: float
    high: float
    told: str
    style: str = "bar"
    label: str = ""


def plots_of(stats: Stats) -> Iterator[str]:
    """Yield the plots that have something to show."""
    yield _heights("Bytes over offsets", [(point.start, point.bytes) for point in stats.by_offset.points], text.number, text.size)
    yield _heights("Records over offsets", [(point.start, point.records) for point in stats.by_offset.points], text.number, text.number)
    yield _times("Times over offsets", stats.by_offset)
    yield _heights("Bytes over time", [(point.start, point.bytes) for point in stats.by_time.points], text.time, text.size)
    yield _heights("Records over time", [(point.start, point.records) for point in stats.by_time.points], text.time, text.number)
    yield _heights("Batches by size in bytes", _powers(stats.sizes), text.size, text.number, before="up to ")
    yield _heights("Batches by records", _powers(stats.counts), text.number, text.number, before="up to ")
    yield _ratios("Unpacked bytes for a packed one, by codec", stats)


def _heights(title: str, points: Sequence[tuple[int, int]], place: Told, value: Told, *, before: str = "") -> str:
    """Draw bars next to each other."""
    if not points:
        return ""
    most = max(max(height for _, height in points), 1)
    bars = [Bar(0, height / most, f"{before}{place(start)}: {value(height)}") for start, height in points]
    return _plot(title, bars, (place(points[0][0]), place(points[-1][0])), ("", value(most)))


def _times(title: str, series: Series) -> str:
    """Draw bars from the earliest to the latest time of each bucket; buckets with late batches are red."""
    timed = [(point.first_time, point.last_time) for point in series.points if point.first_time is not None and point.last_time is not None]
    if not timed:
        return ""
    least, most = min(first for first, _ in timed), max(last for _, last in timed)
    span = max(most - least, 1)
    bars = []
    for point in series.points:
        if point.first_time is None or point.last_time is None:
            bars.append(Bar(0, 0, f"{text.number(point.start)}: no times"))
            continue
        low, high = (point.first_time - least) / span, (point.last_time - least) / span
        told = f"{text.number(point.start)}: {text.time(point.first_time)} to {text.time(point.last_time)}"
        late = f"; late batches: {text.number(point.late)}" if point.late else ""
        bars.append(Bar(min(low, 0.98), max(high, min(low, 0.98) + 0.02), told + late, "late" if point.late else "bar"))
    ends = (text.number(series.points[0].start), text.number(series.points[-1].start))
    return _plot(title, bars, ends, _clocks(least, most))


def _ratios(title: str, stats: Stats) -> str:
    """Draw a bar for each codec; batches without a codec have ratio 1."""
    known = [(name, codec.ratio) for name, codec in stats.codecs.items() if codec.ratio is not None]
    if not known:
        return ""
    known += [(name, 1.0) for name in stats.codecs if name == "none"]
    most = max(ratio for _, ratio in known)
    bars = [Bar(0, ratio / most, f"{name}: {ratio:.2f}", label=f"{name} {ratio:.2f}") for name, ratio in sorted(known)]
    return _plot(title, bars, ("", ""), ("", f"{most:.2f}"))


def _plot(title: str, bars: Sequence[Bar], ends: tuple[str, str], heights: tuple[str, str]) -> str:
    """Draw bars with labels for the first and last bar, and for the lowest and highest value."""
    step = (WIDTH - LEFT) / len(bars)
    width = min(max(step - 1, step * 0.8), 120)
    drawn = []
    for index, bar in enumerate(bars):
        tall = max(ROOM * (bar.high - bar.low), 1.0 if bar.high > bar.low else 0.0)
        x, y = LEFT + index * step, TOP + ROOM * (1 - bar.low) - tall
        box = f'x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{tall:.2f}"'
        drawn.append(f'<rect class="{bar.style}" {box}><title>{escape(bar.told)}</title></rect>')
        drawn.append(_text(x + width / 2, HEIGHT - 6, "middle", bar.label))
    drawn.append(f'<line class="axis" x1="{LEFT}" y1="{HEIGHT - BOTTOM}" x2="{WIDTH}" y2="{HEIGHT - BOTTOM}"/>')
    drawn += [_text(LEFT, HEIGHT - 6, "start", ends[0]), _text(WIDTH, HEIGHT - 6, "end", ends[1] if len(bars) > 1 else "")]
    drawn += [_text(LEFT - 6, HEIGHT - BOTTOM, "end", heights[0]), _text(LEFT - 6, 20, "end", heights[1])]
    drawing = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{"".join(drawn)}</svg>'
    return f"<section><h2>{escape(title)}</h2>{drawing}</section>"


def _text(x: float, y: float, anchor: str, told: str) -> str:
    return f'<text x="{x:.2f}" y="{y}" text-anchor="{anchor}">{escape(told)}</text>' if told else ""


def _clocks(least: int, most: int) -> tuple[str, str]:
    """Return two times, short enough for a plot: the days, or the clock times of one day."""
    (day, clock), (last_day, last_clock) = text.time(least).split(" "), text.time(most).split(" ")
    return (clock, last_clock) if day == last_day else (day, last_day)


def _powers(histogram: Histogram) -> list[tuple[int, int]]:
    """Return the upper end and the count of each bucket."""
    if not histogram.counts:
        return []
    return [
        ((1 << bucket) - 1 if bucket else 0, histogram.counts.get(bucket, 0))
        for bucket in range(min(histogram.counts), max(histogram.counts) + 1)
    ]

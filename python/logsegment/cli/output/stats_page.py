"""`Stats` as one HTML page: tables and plots in SVG, light and dark, without a script or a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from logsegment import Histogram, Series, SeriesPoint, Stats, V3Savings
from logsegment._text import count as counted
from logsegment.cli.output import stats_text as text

STYLE = """
:root{color-scheme:light dark;--ink:#1a1c20;--dim:#5b6270;--back:#fff;--card:#f4f5f8;--line:#d5d8e0;--bar:#2f6fde;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e7e9ee;--dim:#a2a9b8;--back:#14161a;--card:#1e2127;--line:#363b45;--bar:#7aa7ff;--bad:#ff8a80}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1rem;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.05rem;margin:0 0 .5rem}
section{background:var(--card);border-radius:8px;padding:1rem;margin:1rem 0;overflow-x:auto}
table{border-collapse:collapse}th,td{padding:.15rem .9rem .15rem 0;text-align:right;border-bottom:1px solid var(--line)}
th{vertical-align:bottom}td{white-space:nowrap}
td:first-child,td.text{white-space:normal;overflow-wrap:anywhere}td.text{text-align:left}.facts td{white-space:normal}
th:first-child,td:first-child,.facts td{text-align:left}.facts td{overflow-wrap:anywhere}
.facts td:first-child{white-space:nowrap;vertical-align:top}
th,.dim{color:var(--dim);font-weight:normal}.bad{color:var(--bad)}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1rem}.grid section{margin:0}
.plot{display:grid;grid-template-columns:max-content minmax(0,1fr);column-gap:.5rem;font-size:.8rem;line-height:1.2;color:var(--dim)}
.plot svg{width:100%;height:10rem;display:block;border-bottom:1px solid var(--line)}
.heights,.ends{display:flex;justify-content:space-between;gap:.5rem}.heights{flex-direction:column;text-align:right}.ends{grid-column:2;padding-top:.2rem}
.shares td:nth-child(3){width:60%;padding:0}.shares td{text-align:left}.share{height:.9rem;background:var(--bar)}.shares table{width:100%}
@media(max-width:48rem){.wide table,.wide tbody,.wide tr{display:block}.wide tr:first-child{display:none}
.wide tr{padding:.3rem 0;border-bottom:1px solid var(--line)}.wide td:empty{display:none}
.wide td{display:inline-block;border:0;padding:0 .9rem 0 0;text-align:left;white-space:normal}.wide td:first-child{display:block}
.wide td:not(:first-child)::before{content:attr(data-name) " ";color:var(--dim)}}
svg .bar{fill:var(--bar)}svg .late,svg .cut{fill:var(--bad)}
"""


def page(stats: Stats, title: str) -> str:
    """Return the whole page."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{STYLE}</style>'
    body = [f"<h1>{escape(title)}</h1>", _summary(stats), _partitions(stats)]
    body += [f'<div class="grid">{"".join(plots_of(stats))}</div>', _codecs(stats)]
    body += [_producers(stats), _gaps(stats), _damage(stats), *_what_if(stats)]
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
    cells = "".join(f'<tr><td class="dim">{escape(name)}</td><td>{escape(shown)}</td></tr>' for name, shown in rows)
    return f'<section class="facts"><table>{cells}</table></section>'


def _partitions(stats: Stats) -> str:
    if len(stats.partitions) < 2:
        return ""
    rows = list(text.partition_rows(stats.partitions))
    left = stats.other_partitions + len(stats.partitions) - len(rows)
    note = f'<p class="dim">and {text.number(left)} more</p>' if left else ""
    return _table("Partitions", text.PARTITION_COLUMNS, rows, note)


def _codecs(stats: Stats) -> str:
    ordered = sorted(stats.codecs.items(), key=lambda item: -item[1].bytes)
    rows = [
        (name, text.number(codec.batches), text.number(codec.records), text.size(codec.bytes), _ratio(codec.ratio))
        for name, codec in ordered
    ]
    note = '<p class="dim">ratio: decompressed bytes for each compressed byte, of a sample of the batches</p>'
    return _table("Codecs", ("codec", "batches", "records", "bytes", "ratio"), rows, note)


def _producers(stats: Stats) -> str:
    ordered = sorted(stats.producers.items(), key=lambda item: -item[1].batches)
    rows = [
        (
            str(producer_id),
            str(producer.epoch),
            text.number(producer.batches),
            text.number(producer.records),
            text.number(producer.transactional),
            "yes" if producer.is_open else "",
        )
        for producer_id, producer in ordered[: text.SHOWN]
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
    rows = [
        (finding["file"], finding["severity"], finding["rule"], text.number(finding["position"]), finding["message"])
        for finding in stats.damage
    ]
    left = sum(stats.damage_counts.values()) - len(rows)
    note = f'<p class="dim">and {text.number(left)} more</p>' if left else ""
    return _table("Damage", ("file", "severity", "rule", "byte", "what"), rows, note)


def _what_if(stats: Stats) -> Iterator[str]:
    if stats.what_if:
        note = f'<p class="dim">{escape(text.what_if_note(stats.what_if))}</p>'
        yield _table("What if", ("codec", *text.WHAT_IF_COLUMNS[1:]), list(text.what_if_rows(stats.what_if)), note)
    if stats.what_if_v3:
        yield _v3(stats.what_if_v3)


def _v3(saved: V3Savings) -> str:
    note = f'<p class="dim">{escape(text.v3_summary(saved))}. {escape(text.V3_NOTE)}</p>'
    return _table("What if v3", text.V3_COLUMNS, list(text.v3_rows(saved)) if saved.batches else [("no batches", "", "", "")], note)


#: A row of more characters, names of columns included, is shown on several lines in a narrow window.
NARROW_ROW = 28
#: A longer cell may be shown on several lines in every window.
LONG_CELL = 30


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], note: str) -> str:
    if not rows:
        return ""
    longest = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    kind = ' class="wide"' if sum(longest) > NARROW_ROW else ""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(map(_cell, names, row)) + "</tr>" for row in rows)
    return f"<section{kind}><h2>{escape(title)}</h2><table><tr>{head}</tr>{body}</table>{note}</section>"


def _cell(name: str, text: str) -> str:
    """Return a cell. In a narrow window the name of its column is before it."""
    kind = ' class="text"' if len(text) > LONG_CELL else ""
    return f'<td{kind} data-name="{escape(name)}">{escape(text)}</td>'


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


#: Writes an offset, a time, a size or a count as text.
Writing = Callable[[int], str]
#: How far an axis goes: this many times the value that all but the largest twentieth of the bars stay below.
MOST_TIMES = 4


@dataclass(frozen=True)
class Bar:
    """One bar: from where to where it reaches, as parts of the plot's height, and its label."""

    low: float
    high: float
    label: str
    style: str = "bar"


def plots_of(stats: Stats) -> Iterator[str]:
    """Yield the plots that have something to show."""
    for over, series, place in (("offsets", stats.by_offset, text.number), ("time", stats.by_time, text.time)):
        yield _over(f"Bytes over {over}", series, lambda point: point.bytes, place, text.size)
        yield _over(f"Records over {over}", series, lambda point: point.records, place, text.number)
    yield _times("Times over offsets", stats)
    yield _heights("Batches by size in bytes", stats.sizes, text.size, text.number)
    yield _heights("Batches by records", stats.counts, text.number, text.number)
    yield _ratios("Decompressed bytes for a compressed one, by codec", stats)


def _over(title: str, series: Series, height: Callable[[SeriesPoint], int], place: Writing, value: Writing) -> str:
    """Draw bars over offsets or times; a line below names the outliers."""
    outliers = [f"{place(point.start)}: {value(height(point))}" for point in series.outliers]
    bars = [(place(point.start), height(point)) for point in series.points]
    ends = ("", "") if series.first is None or series.last is None else (place(series.first), place(series.last))
    return _bars(title, bars, ends, value, _outside(outliers))


def _heights(title: str, histogram: Histogram, place: Writing, value: Writing) -> str:
    """Draw bars over the upper ends of buckets, from the least to the largest size."""
    ends = place(histogram.least or 0), place(histogram.most or 0)
    return _bars(title, [(f"up to {place(end)}", height) for end, height in _powers(histogram)], ends, value, "")


def _bars(title: str, points: Sequence[tuple[str, int]], ends: tuple[str, str], value: Writing, note: str) -> str:
    """Draw bars next to each other. A few very high bars are cut off, so that the others can be seen; a line below names them."""
    if not points:
        return ""
    top = axis_top([height for _, height in points])
    bars = [Bar(0, min(height / top, 1), f"{place}: {value(height)}", "cut" if height > top else "bar") for place, height in points]
    return _plot(title, bars, ends, ("", value(top)), _cut_off(bars) + note)


def _cut_off(bars: Sequence[Bar]) -> str:
    return _note("cut off", [bar.label for bar in bars if bar.style == "cut"])


def _outside(outliers: Sequence[str]) -> str:
    return _note("far outside the plot", outliers)


def _note(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    more = f"; and {text.number(len(lines) - text.SHOWN)} more" if len(lines) > text.SHOWN else ""
    return f'<p class="dim">{title}: {escape("; ".join(lines[: text.SHOWN]))}{more}</p>'


def axis_top(heights: Sequence[int]) -> int:
    """Return the highest value of an axis: the largest one, unless it is far above almost all others."""
    positive = sorted(height for height in heights if height > 0)
    if not positive:
        return 1
    usual = positive[max(0, len(positive) - 1 - max(1, len(positive) // 20))]
    return positive[-1] if len(positive) < 3 or positive[-1] <= MOST_TIMES * usual else usual * 3 // 2 + 1


def _times(title: str, stats: Stats) -> str:
    """Draw bars from the earliest to the latest time of each bucket; buckets with late batches are red.

    The axis is that of the plots over time: bars that reach times far outside it are cut off, and a line below names them.
    """
    points, axis = stats.by_offset.points, stats.by_time
    if axis.first is None or axis.last is None:
        return ""
    least, most = axis.first, axis.last
    span = max(most - least, 1)
    bars = []
    for point in points:
        if point.first_time is None or point.last_time is None:
            bars.append(Bar(0, 0, f"{text.number(point.start)}: no times"))
            continue
        low, high = (max(0.0, min((time - least) / span, 1.0)) for time in (point.first_time, point.last_time))
        label = f"{text.number(point.start)}: {text.time(point.first_time)} to {text.time(point.last_time)}"
        late = f"; late batches: {text.number(point.late)}" if point.late else ""
        style = "cut" if point.first_time < least or point.last_time > most else "late" if point.late else "bar"
        bars.append(Bar(min(low, 0.98), max(high, min(low, 0.98) + 0.02), label + late, style))
    ends = text.number(stats.by_offset.first), text.number(stats.by_offset.last)
    return _plot(title, bars, ends, _clocks(least, most), _cut_off(bars))


def _ratios(title: str, stats: Stats) -> str:
    """Draw a bar for each codec; batches without a codec have ratio 1."""
    known = {name: codec.ratio for name, codec in stats.codecs.items() if codec.ratio is not None}
    if not known:
        return ""
    known |= {name: 1.0 for name in stats.codecs if name == "none"}
    most = max(known.values())
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td>{ratio:.2f}</td><td><div class="share" style="width:{100 * ratio / most:.1f}%"></div></td></tr>'
        for name, ratio in sorted(known.items())
    )
    return f'<section class="shares"><h2>{escape(title)}</h2><table>{rows}</table></section>'


def _plot(title: str, bars: Sequence[Bar], ends: tuple[str, str], heights: tuple[str, str], note: str) -> str:
    """Draw bars with labels for the first and last bar, and for the lowest and highest value.

    The bars are stretched to the width of the page; the labels are text of the page, which keeps its size and is never cut off.
    """
    step = 100 / len(bars)
    drawn = []
    for index, bar in enumerate(bars):
        tall = max(100 * (bar.high - bar.low), 0.6 if bar.high > bar.low else 0.0)
        box = f'x="{index * step:.3f}" y="{100 * (1 - bar.low) - tall:.2f}" width="{step * 0.85:.3f}" height="{tall:.2f}"'
        drawn.append(f'<rect class="{bar.style}" {box}><title>{escape(bar.label)}</title></rect>')
    drawing = f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="{escape(title)}">{"".join(drawn)}</svg>'
    left = f'<div class="heights"><span>{escape(heights[1])}</span><span>{escape(heights[0])}</span></div>'
    below = f'<div class="ends"><span>{escape(ends[0])}</span><span>{escape(ends[1] if ends[1] != ends[0] else "")}</span></div>'
    return f'<section><h2>{escape(title)}</h2><div class="plot">{left}{drawing}{below}</div>{note}</section>'


def _clocks(least: int, most: int) -> tuple[str, str]:
    """Return two times, short enough for a plot: the days, or the clock times of one day."""
    # A time outside the calendar is a number and its unit.
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

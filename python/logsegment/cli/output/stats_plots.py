"""Plots of `Stats` in SVG: bars that say their numbers when they are pointed at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from logsegment.analysis.stats import Histogram, Series, Stats
from logsegment.cli.output import stats_text as text

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


def of(stats: Stats) -> Iterator[str]:
    """All plots that have something to show."""
    yield _heights("Bytes over offsets", [(point.start, point.bytes) for point in stats.by_offset.points], text.number, text.size)
    yield _heights("Records over offsets", [(point.start, point.records) for point in stats.by_offset.points], text.number, text.number)
    yield _times("Times over offsets", stats.by_offset)
    yield _heights("Bytes over time", [(point.start, point.bytes) for point in stats.by_time.points], text.time, text.size)
    yield _heights("Records over time", [(point.start, point.records) for point in stats.by_time.points], text.time, text.number)
    yield _heights("Batches by size in bytes", _powers(stats.sizes), text.size, text.number, before="up to ")
    yield _heights("Batches by records", _powers(stats.counts), text.number, text.number, before="up to ")
    yield _ratios("Unpacked bytes for a packed one, by codec", stats)


def _heights(title: str, points: Sequence[tuple[int, int]], place: Told, value: Told, *, before: str = "") -> str:
    """Bars that stand side by side."""
    if not points:
        return ""
    most = max(max(height for _, height in points), 1)
    bars = [Bar(0, height / most, f"{before}{place(start)}: {value(height)}") for start, height in points]
    return _plot(title, bars, (place(points[0][0]), place(points[-1][0])), ("", value(most)))


def _times(title: str, series: Series) -> str:
    """From the earliest to the latest time of the batches of each bucket; where batches are late it says so and is red."""
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
    """A bar for each codec; batches without one are what they are."""
    known = [(name, codec.ratio) for name, codec in stats.codecs.items() if codec.ratio is not None]
    if not known:
        return ""
    known += [(name, 1.0) for name in stats.codecs if name == "none"]
    most = max(ratio for _, ratio in known)
    bars = [Bar(0, ratio / most, f"{name}: {ratio:.2f}", label=f"{name} {ratio:.2f}") for name, ratio in sorted(known)]
    return _plot(title, bars, ("", ""), ("", f"{most:.2f}"))


def _plot(title: str, bars: Sequence[Bar], ends: tuple[str, str], heights: tuple[str, str]) -> str:
    """Bars with the names of the first and the last one under them, and of the lowest and the highest value beside them."""
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
    """Two times as far as they fit beside a plot: the days, or the clock of one day."""
    (day, clock), (last_day, last_clock) = text.time(least).split(" "), text.time(most).split(" ")
    return (clock, last_clock) if day == last_day else (day, last_day)


def _powers(histogram: Histogram) -> list[tuple[int, int]]:
    """The upper end of each bucket, and its count."""
    if not histogram.counts:
        return []
    return [
        ((1 << bucket) - 1 if bucket else 0, histogram.counts.get(bucket, 0))
        for bucket in range(min(histogram.counts), max(histogram.counts) + 1)
    ]

"""`Stats` as lines of text, and the words for numbers that the page uses too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from logsegment import Histogram, PartitionStats, Recompression, Series, Stats, V3Savings
from logsegment._text import count as counted

#: Rows of a table that people are shown.
SHOWN = 20
#: Rows of the table of partitions in the page.
MOST_PARTITIONS = 200
BARS = " ▁▂▃▄▅▆▇█"
#: Characters of a line that fits every terminal.
COLUMNS = 80


def lines(stats: Stats) -> Iterator[str]:
    """Yield the lines of the text."""
    yield f"{counted(stats.files, 'file')}, {size(stats.bytes)} in {counted(stats.batches, 'batch')}, {records_text(stats)}"
    yield from partition_lines(stats)
    if stats.batches:
        yield from _batch_lines(stats)
    for found in stats.damage[:SHOWN]:
        yield f"{found['severity']:11} {found['rule']} {found['file']} at byte {number(found['position'])}: {found['message']}"
    left = sum(stats.damage_counts.values()) - len(stats.damage[:SHOWN])
    if left:
        yield f"            and {number(left)} more: `logsegment verify` lists all"
    if stats.what_if:
        yield from what_if_lines(stats.what_if)
    if stats.what_if_v3 is not None:
        yield from v3_lines(stats.what_if_v3)


def _batch_lines(stats: Stats) -> Iterator[str]:
    yield f"offsets     {number(stats.first_offset)} to {number(stats.last_offset)}; {offsets_text(stats)}"
    yield f"times       {time(stats.first_time)} to {time(stats.last_time)}; {order_text(stats)}"
    yield f"batch size  {histogram_text(stats.sizes, size)}"
    yield f"records     {histogram_text(stats.counts, number)} in a batch"
    yield bars_line("over offsets", stats.by_offset, lambda width: counted(width, "offset"))
    yield from outlier_lines(stats.by_offset, number)
    yield bars_line("over time", stats.by_time, duration)
    yield from outlier_lines(stats.by_time, time)
    yield f"formats     {formats(stats)}"
    yield "codec        batches     records       bytes   ratio"
    for name, codec in sorted(stats.codecs.items(), key=lambda item: -item[1].bytes):
        ratio = "-" if codec.ratio is None else f"{codec.ratio:.2f}"
        yield f"  {name:10} {number(codec.batches):>8} {number(codec.records):>11} {size(codec.bytes):>11} {ratio:>7}"
    if any(codec.ratio is not None for codec in stats.codecs.values()):
        yield "  (ratio: decompressed bytes for each compressed byte, of a sample of batches)"
    yield producers_text(stats)
    if stats.transactional or stats.control:
        yield transactions_text(stats)
    for gap in stats.gaps[:SHOWN]:
        count = counted(gap.last - gap.first + 1, "offset")
        yield f"gap         {count}, {number(gap.first)} to {number(gap.last)}, before a batch of {gap.log}"
    if stats.gap_count > SHOWN:
        yield f"            and {counted(stats.gap_count - SHOWN, 'gap')} more"


def formats(stats: Stats) -> str:
    """Return the batches by format."""
    names = {name: f"{name} (proposed)" if name == "v3" else name for name in stats.formats}
    return ", ".join(f"{names[name]}: {number(count)}" for name, count in sorted(stats.formats.items()))


def number(count: int | None) -> str:
    """Return a number such as `15,480,000`, or a dash for None."""
    return "-" if count is None else f"{count:,}"


def size(count: float | None) -> str:
    """Return a number of bytes such as `15.3 MiB`."""
    if count is None:
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:,.0f} B" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"


def time(ms: int | None) -> str:
    """Return a time in UTC, or the number itself if it is outside the calendar."""
    if ms is None:
        return "-"
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError):
        return f"{number(ms)} ms"


def duration(ms: int) -> str:
    """Return a duration such as `2.5 h`."""
    for limit, unit, divisor in ((1000, "ms", 1), (60_000, "s", 1000), (3_600_000, "min", 60_000), (86_400_000, "h", 3_600_000)):
        if ms < limit:
            return f"{ms / divisor:,.4g} {unit}"
    days = ms / 86_400_000
    return f"{days:,.0f} days" if days >= 100 else f"{days:.3g} days"


def bars_line(name: str, series: Series, width: Callable[[int], str]) -> str:
    """Return a line with a row of bars. Neighbours become one bar until the line fits a terminal."""
    together = 1
    while True:
        line = f"{name:13} {spark(series, together)}  bytes, each bar {width(series.width * together)}"
        if len(line) <= COLUMNS or len(series.points) <= together:
            return line
        together *= 2


def spark(series: Series, together: int = 1) -> str:
    """Draw the bytes of a series as a row of bars, each of some neighbours together."""
    points = [sum(point.bytes for point in series.points[at : at + together]) for at in range(0, len(series.points), together)]
    most = max(points, default=0)
    return "".join(BARS[-(-8 * point // most) if most else 0] for point in points)


def outlier_lines(series: Series, place: Callable[[int], str]) -> Iterator[str]:
    """Yield the line that names the places far outside the bars."""
    if series.outliers:
        places = ", ".join(f"{place(point.start)} ({size(point.bytes)})" for point in series.outliers[:SHOWN])
        more = f" and {number(len(series.outliers) - SHOWN)} more" if len(series.outliers) > SHOWN else ""
        yield f"  (far outside: {places}{more})"


def records_text(stats: Stats) -> str:
    """Return how many records there are, and which are not counted."""
    text = counted(stats.records, "record")
    if not stats.uncounted:
        return text
    return f"{text} and those of {counted(stats.uncounted, 'compressed message')}, which only a decompression counts"


def offsets_text(stats: Stats) -> str:
    """Return the gaps between batches and inside them."""
    parts = [
        f"{counted(stats.gap_count, 'gap')} between batches ({counted(stats.missing, 'offset')})"
        if stats.gap_count
        else "no gaps between batches"
    ]
    taken = stats.produced - stats.records
    if not stats.uncounted and taken > 0:
        parts.append(f"{counted(taken, 'offset')} without a record inside of batches")
    if stats.overlaps:
        parts.append(f"{counted(stats.overlaps, 'batch')} overlap{'s' if stats.overlaps == 1 else ''} the one before")
    return ", ".join(parts)


def order_text(stats: Stats) -> str:
    """Return whether the batches are in the order of their times."""
    types = ", ".join(f"{name} {number(count)}" for name, count in sorted(stats.timestamp_types.items()))
    are = "is" if stats.late == 1 else "are"
    late = f"{counted(stats.late, 'batch')} {are} late, by up to {duration(stats.latest_step)}" if stats.late else "in order"
    return ", ".join([late, types, *([f"{number(stats.untimed)} without a time"] if stats.untimed else [])])


def histogram_text(histogram: Histogram, shown: object) -> str:
    """Return the least, the most and the mean."""
    text = shown if callable(shown) else number
    mean = None if histogram.mean is None else round(histogram.mean)
    return f"{text(histogram.least)} to {text(histogram.most)}, mean {text(mean)}"


def producers_text(stats: Stats) -> str:
    """Return how many producers there are, and the ids with the most batches."""
    count = len(stats.producers)
    if not count:
        return "producers   none with an id"
    most = sorted(stats.producers.items(), key=lambda item: -item[1].batches)[:3]
    named = ", ".join(f"{producer_id} ({counted(producer.batches, 'batch')})" for producer_id, producer in most)
    more = f"; batches of others, not counted one by one: {number(stats.other_producers)}" if stats.other_producers else ""
    return f"producers   {number(count)}; most batches: {named}{more}"


def transactions_text(stats: Stats) -> str:
    """Return the batches of transactions, the markers, and the producers without a marker."""
    markers = ", ".join(f"{name} {number(count)}" for name, count in sorted(stats.markers.items())) or "none looked at"
    still = sum(producer.is_open for producer in stats.producers.values())
    control = f"{counted(stats.control, 'control batch')} ({markers})"
    return f"transactions {counted(stats.transactional, 'batch')}, {control}, {counted(still, 'producer')} without a marker at the end"


#: Columns of the table of partitions.
PARTITION_COLUMNS = ("topic", "partition", "files", "bytes", "batches", "records", "first offset", "last offset", "first time", "last time")


def partition_rows(partitions: Sequence[PartitionStats]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of partitions, the first ones."""
    for partition in partitions[:MOST_PARTITIONS]:
        counts = number(partition.files), size(partition.bytes), number(partition.batches), number(partition.records)
        ends = number(partition.first_offset), number(partition.last_offset), time(partition.first_time), time(partition.last_time)
        yield partition.topic or partition.path, "-" if partition.partition is None else str(partition.partition), *counts, *ends


def partition_lines(stats: Stats) -> Iterator[str]:
    """Yield the lines of the table of partitions, if there are several."""
    if len(stats.partitions) < 2:
        return
    yield from _table([PARTITION_COLUMNS[:8], *(row[:8] for row in partition_rows(stats.partitions[:SHOWN]))])
    left = stats.other_partitions + len(stats.partitions) - SHOWN
    if left > 0:
        yield f"  and {counted(left, 'partition')} more"


#: Columns of the table of other codecs.
WHAT_IF_COLUMNS = ("what if", "bytes now", "bytes then", "s/GiB to write", "s/GiB to read")


def what_if_rows(what_if: Sequence[Recompression]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the rows of the table of other codecs."""
    for estimate in what_if:
        then = _changed(size(estimate.bytes_then), estimate.bytes_then, estimate.bytes_now)
        then += f" \N{PLUS-MINUS SIGN} {size(estimate.error)}" if estimate.error else ""
        yield (
            estimate.codec,
            size(estimate.bytes_now),
            then,
            _seconds(estimate.write_seconds_per_gib),
            _seconds(estimate.read_seconds_per_gib),
        )


def what_if_note(what_if: Sequence[Recompression]) -> str:
    """Return what the numbers of the table of other codecs are."""
    first = what_if[0]
    note = "seconds of one CPU for a GiB of the log as it is now"
    if first.sampled_bytes < first.bytes_now:
        note += f"; estimated from {size(first.sampled_bytes)}, with the error of 95 % confidence"
    return note + (f"; {size(first.left_out)} left out, damaged or not convertible" if first.left_out else "")


def what_if_lines(what_if: Sequence[Recompression]) -> Iterator[str]:
    """Yield the lines of the table of other codecs."""
    yield from _table([WHAT_IF_COLUMNS, *what_if_rows(what_if)])
    yield f"  ({what_if_note(what_if)})"


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f}"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        yield "  ".join([name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))])


#: Columns of the table: what is, and the two proposals.
V3_COLUMNS = ("", "magic 2", "v3", "metadata first")
V3_NOTE = "No broker reads v3 (KIP-931). All three are compressed by these codecs, at their default levels; sizes are those of the batches."


def v3_summary(saved: V3Savings) -> str:
    """Return the counts, and what headers and records save."""
    text = f"{counted(saved.batches, 'batch')}, {counted(saved.records, 'record')}"
    header = saved.V2_HEADER
    text += f": a header has {header - saved.per_batch:.1f} bytes instead of {header}, a record {saved.per_record:.2f} less"
    return text + (f"; {size(saved.left_out)} left out, damaged or not convertible" if saved.left_out else "")


def v3_rows(saved: V3Savings) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of the table."""
    compressed = saved.recompressed, saved.main, saved.additional
    uncompressed = saved.uncompressed, saved.uncompressed_main, saved.uncompressed_main
    for name, sizes in (("with their codecs", compressed), ("without compression", uncompressed)):
        yield (f"bytes {name}", *(_changed(size(length), length, sizes[0]) for length in sizes))  # type: ignore[misc]
        for part, count in (("batch", saved.batches), ("record", saved.records)):
            yield (f"  a {part}", *(f"{size / count:,.1f}" if count else "-" for size in sizes))  # type: ignore[misc]
    decompressed = saved.decompressed, saved.decompressed_main, saved.decompressed_additional
    yield ("decompressed to validate offsets, times, lengths", *map(size, decompressed))  # type: ignore[misc]
    seconds = saved.seconds, saved.seconds_main, saved.seconds_additional
    yield ("time of that", *(_changed(f"{1000 * time:,.1f} ms", time, seconds[0]) for time in seconds))  # type: ignore[misc]


def v3_lines(saved: V3Savings) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"what if v3  {v3_summary(saved)}"
    if not saved.batches:
        return
    for line in _table([V3_COLUMNS, *v3_rows(saved)]):
        yield f"  {line}"
    yield f"  ({V3_NOTE})"


def _changed(text: str, now: float, before: float) -> str:
    """Return the text with the change in percent, if there is one."""
    return text if now == before or not before else f"{text} ({100 * (now / before - 1):+.1f}%)"

"""`logsegment stats`: counts that the corpus' truth confirms, and a page that a real browser shows without asking anybody."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from lz4.frame import compress

import building
import corpus
import headless
import logsegment as ls
from cli_process import CODEC_FILE, DAMAGED, MODERN, TRANSACTIONS, run
from logsegment._options import ReadOptions
from logsegment.analysis.recompression import Recompressor
from logsegment.analysis.series import Series, SeriesPoint
from logsegment.analysis.stats import Collector
from logsegment.analysis.stats_result import Stats
from logsegment.analysis.v3_savings import v3_savings
from logsegment.cli import stats as stats_verb
from logsegment.cli.output.stats_page import STYLE, axis_top, page, plots_of
from logsegment.cli.output.stats_text import lines

needs_browser = pytest.mark.skipif(
    headless.chromium() is None and not os.environ.get("REQUIRE_BROWSER"),
    reason="no Chromium on this machine; Debian has it as chromium-headless-shell",
)


def collected(directory: Path) -> Stats:
    collector = Collector()
    for log in sorted(directory.glob("*.log")):
        collector.add(ls.FileSource(log), log.name, (str(directory), None, None), is_repeatable=True)
    return collector.stats


@pytest.mark.parametrize("name", ["codec-lz4-0", "transactions-multi-segment-0", "compacted-transactions-0", "idempotent-mixed-codecs-0"])
def test_counts_are_those_of_the_truth(name: str):
    cases = [case for case in corpus.cases() if case.set == "modern-4.1.0" and f"/{name}/" in case.file]
    rows = [row for case in sorted(cases, key=lambda case: case.file) for row in corpus.expected_batches(case)]
    stats = collected(MODERN / name)
    assert (stats.batches, stats.bytes) == (len(rows), sum(row["size"] for row in rows))
    assert stats.records == sum(row["count"] for row in rows)
    assert {codec: item.batches for codec, item in stats.codecs.items()} == Counter(row["compression"] for row in rows)
    assert set(stats.producers) == {row["producerId"] for row in rows if row["producerId"] >= 0}
    assert stats.control == sum(row["isControl"] for row in rows)
    ends = [(before["lastOffset"], behind["baseOffset"]) for before, behind in pairwise(rows)]
    assert stats.missing == sum(first - last - 1 for last, first in ends if first > last + 1)
    assert stats.gap_count == len(stats.gaps) == sum(first > last + 1 for last, first in ends)
    assert (stats.first_offset, stats.last_offset) == (rows[0]["baseOffset"], rows[-1]["lastOffset"])
    assert sum(stats.sizes.counts.values()) == len(rows)
    assert sum(point.bytes for point in stats.by_offset.points) == stats.bytes
    assert sum(point.records for point in stats.by_time.points) == stats.records
    assert sum(point.late for point in stats.by_offset.points) == stats.late == late(rows)
    times = [(point.first_time, point.last_time) for point in stats.by_offset.points if point.first_time is not None]
    assert max(last for _, last in times) == stats.last_time
    first = next(iter(ls.Log(MODERN / name).records(columns=["timestampMs"], control=True)))
    assert stats.first_time == first.to_pylist()[0]["timestampMs"] >= min(first for first, _ in times)


def batch_of(times: list[int], base: int, largest: int, attributes: int = 0) -> bytes:
    records = [building.record(b"k", b"v", offset_delta=at, timestamp_delta=time - base) for at, time in enumerate(times)]
    return building.batch(b"".join(records), count=len(times), base_timestamp=base, max_timestamp=largest, attributes=attributes)


def wrapper_of(times: list[int], magic: int, inner_magic: int = 1) -> bytes:
    inner = [building.message(b"v", magic=inner_magic, offset=at, timestamp=time) for at, time in enumerate(times)]
    outer = {"offset": len(times) - 1, "attributes": building.GZIP, "timestamp": max(times)}
    return building.message(gzip.compress(b"".join(inner)), magic=magic, **outer)


@pytest.mark.parametrize(
    ("data", "first", "last"),
    [
        (batch_of([50, 70, 40], 50, 70), 50, 70),
        (batch_of([50, 70], 50, 90, building.LOG_APPEND_TIME), 90, 90),
        (batch_of([50, 70], 1_000, 70, building.DELETE_HORIZON), 50, 70),
        (batch_of([50, 70], -1, 70), 50, 70),
        (wrapper_of([50, 70], 1), 50, 70),
        (wrapper_of([50, 70], 0), 50, None),
        (wrapper_of([50, 70], 0, 0) + building.message(b"v", magic=1, offset=2, timestamp=60), 60, 60),
        (building.message(b"v", magic=0), None, None),
        (building.batch(b"", count=0, last_offset_delta=0, base_timestamp=5, max_timestamp=5) + batch_of([60, 50], 60, 60), 60, 60),
        (batch_of([-1, -1], -1, -1) + batch_of([60], 60, 60), 60, 60),
    ],
    ids=["create time", "append time", "delete horizon", "no base", "wrapper", "old wrapper", "no times", "none", "empty", "untimed"],
)
def test_the_first_time_is_that_of_the_first_record(tmp_path: Path, data: bytes, first: int | None, last: int | None):
    counted = ls.stats(data)
    assert (counted.first_time, counted.last_time) == (first, last)
    (tmp_path / f"{0:020}.log").write_bytes(data)
    (shown,) = run("stats", tmp_path, "--json").lines
    assert (shown["firstTime"], shown["partitions"][0]["firstTime"], shown["lastTime"]) == (first, first, last)


def test_axes_start_and_end_at_the_data_and_lines_fit_a_terminal():
    times = [1_700_000_000_003 + 1_000 * step for step in range(1_000)]
    table = pa.table({"value": [b"v"] * 1_000, "timestampMs": times, "offset": range(100_001, 101_001)})
    counted = ls.stats(ls.encode(table, batch_bytes=1))
    assert (counted.by_offset.first, counted.by_offset.last) == (100_001, 101_000)
    assert (counted.by_time.first, counted.by_time.last) == (times[0], times[-1])
    assert counted.by_offset.points[0].start < 100_001
    for plot in plots_of(counted):
        if "over offsets</h2>" in plot:
            assert '<div class="ends"><span>100,001</span><span>101,000</span></div>' in plot
    bars = [line for line in lines(counted) if line.startswith("over ")]
    assert len(bars) == 2
    assert all(len(line) <= 80 for line in bars)


def late(rows: list[dict]) -> int:
    """Batches whose time is before that of an earlier one."""
    times = [row["maxTimestamp"] for row in rows]
    return sum(time < max(times[:index], default=time) for index, time in enumerate(times))


def test_ratios_are_those_of_unpacked_batches():
    stats = collected(MODERN / "codec-gzip-0")
    codec = stats.codecs["gzip"]
    assert 0 < codec.sampled <= codec.batches
    assert codec.ratio == codec.sampled_decompressed / codec.sampled_compressed
    assert codec.ratio > 1
    assert collected(MODERN / "codec-none-0").codecs["none"].ratio is None


def test_transactions_are_counted():
    stats = collected(TRANSACTIONS)
    assert sum(stats.markers.values()) == stats.control > 0
    assert set(stats.markers) <= {"COMMIT", "ABORT"}
    assert stats.transactional > 0


def test_series_and_histograms_are_bounded_and_lose_nothing():
    """Offsets that damage makes of it are over the whole range of numbers."""
    one = ls.encode(pa.table({"value": [b"v", b"w"]}))
    offsets = [0, 2, 10**6, 2**62, 123456, 2**63 - 8]
    collector = Collector()
    collector.add(b"".join(offset.to_bytes(8, "big") + one[8:] for offset in offsets), "a", ("a", None, None), is_repeatable=True)
    stats = collector.stats
    assert len(stats.by_offset.points) <= 120
    points = stats.by_offset.points + stats.by_offset.outliers
    assert sum(point.bytes for point in points) == stats.bytes == 6 * len(one)
    assert sum(point.records for point in points) == stats.records == 12
    assert (stats.sizes.total, stats.sizes.least, stats.sizes.most, stats.sizes.mean) == (6, len(one), len(one), len(one))
    assert stats.counts.counts == {2: 6}
    assert (stats.gap_count, stats.overlaps) == (3, 1)


def test_stats_of_the_command_line(tmp_path: Path):
    done = run("stats", CODEC_FILE.parent)
    assert (done.code, done.err) == (0, "")
    assert "240 records" in done.text
    assert "lz4" in done.text
    (told,) = run("stats", "--json", CODEC_FILE).lines
    assert told["records"] == 240
    assert told["codecs"]["lz4"]["ratio"] > 1
    assert told["byOffset"]["points"][0]["bytes"] > 0
    damaged = run("stats", "--json", "--no-ratios", DAMAGED)
    assert damaged.code in (0, 1)
    html = tmp_path / "stats.html"
    assert run("stats", "--html", html, TRANSACTIONS).code == 0
    assert html.read_text().startswith("<!doctype html>")
    assert run("stats", "-", stdin=CODEC_FILE.read_bytes()).code == 0
    assert run("stats", "--json", "--html", html, CODEC_FILE).code == 2


def test_a_page_that_is_no_clean_one_says_why_on_stderr(tmp_path: Path):
    """COD-6: exit code 1 has its reason, also with --quiet."""
    log, html = tmp_path / "a.log", tmp_path / "a.html"
    batch = ls.encode(pa.table({"value": [b"v", b"w"]})) or b""
    log.write_bytes(batch + batch[20:] + batch)
    done = run("stats", "--html", html, log, "--quiet")
    assert (done.code, done.err) == (1, "logsegment: 1 finding of severity error, shown in the page; `logsegment verify` lists all\n")
    log.write_bytes(batch)
    assert run("stats", "--html", html, log, "--quiet", "--overwrite").err == ""


def test_counts_agree_with_their_nouns(tmp_path: Path):
    batch = ls.encode(pa.table({"value": [b"v"]})) or b""
    log = tmp_path / "a.log"
    log.write_bytes(batch + (2).to_bytes(8, "big") + batch[8:])
    text = run("stats", log).text
    assert "1 gap between batches (1 offset)" in text
    assert "each bar 1 offset\n" in text
    log.write_bytes(batch)
    assert "1 file, 69 B in 1 batch, 1 record\n" in run("stats", log).text


def test_what_if_v3_of_real_segments(tmp_path: Path):
    """The numbers of KIP-931 for a user's own segments: text, JSON and a page tell the same."""
    for path, switch in ((MODERN / "codec-gzip-0", []), (TRANSACTIONS, []), (DAMAGED, []), (MODERN / "codec-none-0", ["--format", "v3"])):
        (told,) = run("stats", "--json", "--what-if", "v3", *switch, path).lines
        saved = told["whatIfV3"]
        assert saved["batches"] > 0
        assert 9 <= saved["perBatch"] <= 12
        assert 1 <= saved["perRecord"] < 1.2
        assert saved["headerBytes"] + saved["perRecord"] * saved["records"] == pytest.approx(
            saved["uncompressed"] - saved["uncompressedMain"]
        )
        if path == DAMAGED:
            assert 0 < saved["leftOut"] < told["bytes"]
        else:
            assert (saved["batches"], saved["records"], saved["stored"], saved["leftOut"]) == (
                told["batches"],
                told["records"],
                told["bytes"],
                0,
            )
        if "gzip" in told["codecs"]:
            assert saved["main"] < saved["recompressed"] + saved["records"]
            assert 0 < saved["decompressedAdditional"] < saved["decompressedMain"] < saved["decompressed"]
        assert min(saved["seconds"], saved["secondsMain"], saved["secondsAdditional"]) > 0
    done = run("stats", "--what-if", "v3", CODEC_FILE)
    assert done.code == 0
    assert "instead of 61" in done.text
    assert "metadata first" in done.text
    html = tmp_path / "stats.html"
    assert run("stats", "--what-if", "v3", "--html", html, CODEC_FILE).code == 0
    assert "What if v3" in html.read_text()
    piped = run("stats", "--what-if", "v3", "--json", "-", stdin=CODEC_FILE.read_bytes()).lines[0]["whatIfV3"]
    direct = run("stats", "--what-if", "v3", "--json", CODEC_FILE).lines[0]["whatIfV3"]
    assert {name: value for name, value in piped.items() if "seconds" not in name.lower()} == {
        name: value for name, value in direct.items() if "seconds" not in name.lower()
    }
    assert "whatIfV3" not in run("stats", "--json", CODEC_FILE).lines[0]
    assert run("stats", "--what-if", "v4", CODEC_FILE).code == 2


WHAT_IF = ["zstd", "zstd:19", "lz4", "gzip:9", "snappy", "none"]


def test_the_sizes_of_what_if_are_those_of_real_conversions(tmp_path: Path):
    for path in (CODEC_FILE, MODERN / "codec-none-0/00000000000000000000.log", TRANSACTIONS):
        counted = ls.stats(path, what_if=WHAT_IF)
        assert [estimate.codec for estimate in counted.what_if] == WHAT_IF
        for estimate in counted.what_if:
            codec, _, level = estimate.codec.partition(":")
            assert estimate.bytes_now == counted.bytes
            files = [path] if path.is_file() else sorted(path.glob("*.log"))
            real = sum(len(ls.convert(file, compression=codec, level=int(level) if level else None).data) for file in files)
            assert (estimate.bytes_then, estimate.error, estimate.left_out) == (real, 0, 0)
            assert min(estimate.write_seconds_per_gib, estimate.read_seconds_per_gib) > 0
    out = tmp_path / "out"
    assert run("convert", CODEC_FILE, "--compression", "zstd", "--level", "19", "--output", out).code == 0
    (told,) = run("stats", "--json", "--what-if", "zstd:19", "--what-if", "v3", CODEC_FILE).lines
    assert told["whatIf"][0]["bytesThen"] == out.stat().st_size
    assert told["whatIfV3"]["records"] == told["records"]


def test_a_sample_comes_with_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("logsegment.analysis.recompression.PIECE", 4096)
    numbers = random.Random(1)
    # From text to noise: the pieces differ.
    values = [numbers.randbytes(index % 400) + b"text " * (60 - index % 60) for index in range(6000)]
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(ls.encode(pa.table({"value": values}), batch_bytes=2000))
    (whole,) = ls.stats(path, what_if="zstd").what_if
    (part,) = ls.stats(path, what_if="zstd", sample=0.2).what_if
    again = ls.stats(path, what_if="zstd", sample=0.2).what_if[0]
    assert (again.bytes_then, again.error, again.sampled_bytes) == (part.bytes_then, part.error, part.sampled_bytes)
    assert whole.sampled_bytes == whole.bytes_now == part.bytes_now
    assert 0.15 * whole.bytes_now < part.sampled_bytes < 0.25 * whole.bytes_now
    assert 0 < part.error < 0.1 * whole.bytes_then
    assert abs(part.bytes_then - whole.bytes_then) <= 2 * part.error
    path.write_bytes(ls.encode(pa.table({"value": 3 * values}), batch_bytes=2000))
    done = run("stats", "--what-if", "zstd", "--sample", "20%", path)
    assert "estimated from" in done.text
    assert "\N{PLUS-MINUS SIGN}" in done.text


def test_what_if_leaves_damage_out(tmp_path: Path):
    batches = [ls.encode(pa.table({"value": [b"v" * 500]}), base_offset=index) for index in range(4)]
    broken = bytearray(batches[1])
    broken[80] ^= 1
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join([batches[0], bytes(broken), *batches[2:]]))
    (one,) = ls.stats(path, what_if="lz4").what_if
    assert (one.bytes_now, one.left_out) == (3 * len(batches[0]), len(broken))
    assert one.bytes_then == 3 * len(ls.convert(batches[0], compression="lz4").data)
    assert one.error == 0
    # An empty active segment.
    path.with_name(f"{4:020}.log").write_bytes(bytes(4096))
    assert ls.stats(tmp_path, what_if="lz4").what_if[0].error == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--what-if", "v4"],
        ["--what-if", "zstd:x"],
        ["--what-if", "zstd:99"],
        ["--what-if", "snappy:3"],
        ["--what-if", "zstd", "--sample", "0%"],
        ["--sample", "5%"],
        ["--sample", "x"],
    ],
)
def test_what_cannot_be_tried_is_a_usage_error(arguments: list[str]):
    assert run("stats", *arguments, CODEC_FILE).code == 2


def test_every_file_of_the_corpus_has_statistics_and_a_page():
    seen = 0
    for case in corpus.cases():
        collector = Collector(is_sampling=seen % 8 == 0)
        collector.add(case.path.read_bytes(), case.file, (case.file, None, None), is_repeatable=True, format=case.format)
        json.dumps(collector.stats.to_dict())
        assert "<svg" in page(collector.stats, case.file) or not collector.stats.batches
        seen += 1
    corpus.seen_all(range(seen), 50)


@needs_browser
def test_a_browser_shows_the_page_without_a_request_or_an_error(tmp_path: Path):
    html = tmp_path / "stats.html"
    html.write_text(page(collected(TRANSACTIONS), "Statistics of <orders-0> & more"), encoding="utf-8")
    corners = []
    for is_dark, bar in ((False, (0x2F, 0x6F, 0xDE)), (True, (0x7A, 0xA7, 0xFF))):
        seen = headless.look_at(html, tmp_path, is_dark=is_dark)
        assert seen.console == []
        assert seen.requests == []
        painted = sum(pixel == bar for row in seen.pixels for pixel in row)
        assert painted > 500, f"only {painted} pixels of the plots are painted"
        corners.append(sum(seen.pixels[2][2]))
    assert corners[0] > 600 > 200 > corners[1]


@needs_browser
def test_the_requests_of_a_page_are_seen_and_no_others(tmp_path: Path):
    """Nothing listens on port 9, and names under `.invalid` exist nowhere."""
    html = tmp_path / "asks.html"
    html.write_text(
        '<!doctype html><link rel="preconnect" href="http://ahead.invalid"><img src="http://127.0.0.1:9/image">'
        '<iframe src="http://127.0.0.1:9/frame"></iframe><script>'
        'fetch("http://127.0.0.1:9/fetch").catch(() => 0); new WebSocket("ws://127.0.0.1:9/socket")</script>',
        encoding="utf-8",
    )
    seen = set(headless.look_at(html, tmp_path, is_dark=False).requests)
    local = {"http://127.0.0.1:9/image", "http://127.0.0.1:9/frame", "http://127.0.0.1:9/fetch", "ws://127.0.0.1:9/socket"}
    assert local <= seen
    # A full browser also connects ahead of a request: to an origin of `preconnect`, and to those of the requests.
    assert seen - local <= {"http://ahead.invalid", "http://127.0.0.1:9"}


@needs_browser
def test_a_browser_shows_something_in_each_plot(tmp_path: Path):
    """Each in a band of its own, so that one that is empty is seen."""
    drawn = [plot for plot in plots_of(collected(MODERN / "idempotent-mixed-codecs-0")) if plot]
    titles = [plot.split("</h2>")[0].rpartition(">")[2] for plot in drawn]
    assert titles == [
        "Bytes over offsets",
        "Records over offsets",
        "Bytes over time",
        "Records over time",
        "Times over offsets",
        "Batches by size in bytes",
        "Batches by records",
        "Decompressed bytes for a compressed one, by codec",
    ]
    band = 240
    bands = "".join(f'<div style="height:{band}px;overflow:hidden">{plot}</div>' for plot in drawn)
    html = tmp_path / "plots.html"
    html.write_text(f'<!doctype html><meta charset="utf-8"><style>{STYLE} body{{padding:0}}</style>{bands}', encoding="utf-8")
    seen = headless.look_at(html, tmp_path, is_dark=False, size=(480, band * len(drawn)))
    assert (seen.console, seen.requests) == ([], [])
    for index, title in enumerate(titles):
        pixels = [pixel for row in seen.pixels[index * band : (index + 1) * band] for pixel in row]
        shown = sum(pixel == (0x2F, 0x6F, 0xDE) for pixel in pixels) + sum(pixel == (0xB3, 0x26, 0x1E) for pixel in pixels)
        assert shown > 100, f"{title}: only {shown} pixels are painted"
    times = titles.index("Times over offsets")
    red = sum(pixel == (0xB3, 0x26, 0x1E) for row in seen.pixels[times * band : (times + 1) * band] for pixel in row)
    assert red > 20, "batches that are late are not seen"


@needs_browser
@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_of_the_page_is_wider_than_the_window(tmp_path: Path, width: int):
    """The page reports its own measurements: a script is added to a copy of it."""
    html = tmp_path / "stats.html"
    # Many partitions with every kind of time and gap, and damage with a long message.
    damaged = bytearray(CODEC_FILE.read_bytes())
    damaged[8:12] = b"\xff" * 4
    (tmp_path / "damaged.log").write_bytes(damaged)
    assert run("stats", "--html", html, MODERN, tmp_path / "damaged.log", "--what-if", "zstd,lz4", "--sample", "5%").code == 1
    ask = """<script>
      const wide = [...document.querySelectorAll("section, h1, .plot, .plot span, .plot svg")].filter((one) => {
        const box = one.getBoundingClientRect();
        return box.left < 0 || box.right > innerWidth + 1 || one.scrollWidth > one.clientWidth + 1 && one.matches(".plot, h1, section");
      });
      const small = [...document.querySelectorAll(".plot span")].filter((one) => parseFloat(getComputedStyle(one).fontSize) < 10);
      console.log(`measured ${innerWidth} ${wide.length} ${small.length} ${document.documentElement.scrollWidth <= innerWidth}`);
    </script>"""
    copy = tmp_path / "asked.html"
    copy.write_text(html.read_text().replace("</body>", ask + "</body>"))
    seen = headless.look_at(copy, tmp_path, is_dark=False, size=(width, 9000))
    (told,) = seen.console
    assert told == f"measured {width} 0 0 true"


def test_one_high_bar_does_not_flatten_the_others():
    assert axis_top([5, 7, 9]) == 9
    assert axis_top([10] * 50 + [1_000_000]) == 16
    assert axis_top([10] * 50 + [40]) == 40
    assert axis_top([]) == axis_top([0, 0]) == 1
    assert axis_top([3, 1_000_000]) == 1_000_000
    stats = Stats(by_offset=Series(1, [SeriesPoint(index, 10 if index else 10_000, 1, None, None, 0) for index in range(60)]))
    (first, *_) = plots_of(stats)
    assert "cut off: 0: 9.8 KiB" in first
    assert first.count('class="cut"') == 1


def test_one_wrong_time_does_not_flatten_the_others():
    """A producer whose clock stood at 1970, and one of the year 2100."""
    times = [1_700_000_000_000 + 1_000 * step for step in range(100)]

    def counted(times: list[int]) -> Stats:
        collector = Collector()
        batches = [ls.encode(pa.table({"value": [b"v"], "timestampMs": [time]}), base_offset=at) for at, time in enumerate(times)]
        collector.add(b"".join(batches), "a", ("a", None, None), is_repeatable=True)
        return collector.stats

    usual, wrong = counted(times), counted([5, *times, 4_102_444_800_000])
    assert (wrong.by_time.width, wrong.by_time.points) == (usual.by_time.width, usual.by_time.points)
    assert [point.records for point in wrong.by_time.outliers] == [1, 1]
    assert usual.by_time.outliers == []
    drawn = {plot.partition("<h2>")[2].partition("</h2>")[0]: plot for plot in plots_of(wrong)}
    for title in ("Bytes over time", "Records over time"):
        assert "far outside the plot: 1970-01-01" in drawn[title]
        assert "2100-01-01" in drawn[title]
    assert drawn["Times over offsets"].count('class="cut"') == 2
    text = "\n".join(lines(wrong))
    assert "(far outside: 1970-01-01" in text
    assert [len(row["outliers"]) for row in (wrong.to_dict()["byTime"], wrong.to_dict()["byOffset"])] == [2, 0]
    assert wrong.to_arrow().num_rows == 1


def test_partitions_have_a_row_each(tmp_path: Path):
    both = [MODERN / "codec-lz4-0", MODERN / "multi-segment-0"]
    counted = ls.stats(both)
    assert [(partition.topic, partition.partition, partition.path) for partition in counted.partitions] == [
        ("codec-lz4", 0, str(both[0])),
        ("multi-segment", 0, str(both[1])),
    ]
    for item, path in zip(counted.partitions, both, strict=True):
        alone = ls.stats(path)
        for name in ("files", "batches", "records", "bytes", "first_offset", "last_offset", "first_time", "last_time"):
            assert getattr(item, name) == getattr(alone, name), name
    html = tmp_path / "stats.html"
    assert run("stats", "--html", html, *both).code == 0
    assert "<h2>Partitions</h2>" in html.read_text()
    text = run("stats", *both).text
    assert re.search(r"^multi-segment +0 +\d", text, re.MULTILINE)
    (told,) = run("stats", "--json", *both).lines
    assert [span["firstOffset"] for span in told["partitions"]] == [partition.first_offset for partition in counted.partitions]
    assert "Partitions" not in page(ls.stats(both[0]), "one")


def test_plots_without_anything_to_show_are_left_out():
    """No ratios were taken, and no batch has a time."""
    collector = Collector(is_sampling=False)
    collector.add(
        ls.encode(pa.table({"value": [b"v"] * 9, "timestampMs": [-1] * 9}), compression="gzip"), "a", ("a", None, None), is_repeatable=True
    )
    shown = "".join(plots_of(collector.stats))
    assert "Bytes over offsets" in shown
    assert "Times over" not in shown
    assert "by codec" not in shown


def test_many_torn_tails_do_not_hide_an_error(tmp_path: Path):
    data = CODEC_FILE.read_bytes()
    bad = bytearray(data)
    bad[16] = 9
    for index in range(102):
        partition = tmp_path / f"t-{index}"
        partition.mkdir()
        (partition / f"{0:020}.log").write_bytes(bytes(bad) if index == 101 else data[:100])
    done = run("stats", "--json", tmp_path)
    assert done.code == 1
    told = json.loads(done.out)
    assert told["damageCounts"] == {"info": 101, "error": 1}
    assert len(told["damage"]) == 100


def test_the_page_shows_no_option_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The title names what was looked at, as people may see it."""
    written = tmp_path / "page.html"
    monkeypatch.setattr(stats_verb, "stats_of", lambda paths, **_: Stats())
    stats_verb.stats.main(
        ["--html", str(written), "--storage-option", "aws_secret_access_key=SECRETWORD", "s3://bucket/orders-0"], standalone_mode=False
    )
    assert "SECRETWORD" not in written.read_text()
    assert "s3://bucket/orders-0" in written.read_text()


def test_what_if_reads_what_it_wrote_with_the_options_of_the_source():
    """An LZ4 batch that only an option reads is encoded again with the same codec, as `convert` writes it."""
    records = building.records([b"the same words again and again"] * 4000)
    packed = compress(records, block_linked=True, block_size=4)
    data = building.batch(packed, count=4000, attributes=3)
    recompressor = Recompressor(["lz4", "zstd"])
    recompressor.add(data, ReadOptions(quirks={"lz4-dependent-blocks"}))
    lz4, zstd = recompressor.results
    written = ls.convert(data, compression="lz4", quirks={"lz4-dependent-blocks"}).data
    assert written != data
    assert ls.decode(written, columns=["value"]).read_all().num_rows == 4000
    assert (lz4.bytes_now, lz4.bytes_then, lz4.left_out) == (len(data), len(written), 0)
    assert 0 < zstd.bytes_then < len(data)
    saved = v3_savings(data, quirks={"lz4-dependent-blocks"})
    assert (saved.stored, saved.records, saved.left_out) == (len(written), 4000, 0)
    assert v3_savings(data).left_out == len(data)

"""`logsegment stats`: counts that the corpus' truth confirms, and a page that a real browser shows without asking anybody."""

from __future__ import annotations

import json
import os
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

import corpus
import headless
import logsegment as ls
from cli_process import CODEC_FILE, DAMAGED, MODERN, TRANSACTIONS, run
from logsegment.analysis.stats import Collector, Stats
from logsegment.cli import stats as stats_verb
from logsegment.cli.output.stats_page import STYLE, page, plots_of

needs_browser = pytest.mark.skipif(
    headless.chromium() is None and not os.environ.get("REQUIRE_BROWSER"),
    reason="no Chromium on this machine; Debian has it as chromium-headless-shell",
)


def collected(directory: Path) -> Stats:
    collector = Collector()
    for log in sorted(directory.glob("*.log")):
        collector.add(ls.FileSource(log), log.name, directory, is_repeatable=True)
    return collector.stats


@pytest.mark.parametrize("name", ["codec-lz4-0", "transactions-multi-segment-0", "compacted-transactions-0", "idempotent-mixed-codecs-0"])
def test_counts_are_those_of_the_truth(name: str):
    cases = [case for case in corpus.cases() if case.set == "modern-4.1.0" and f"/{name}/" in case.file]
    rows = [row for case in sorted(cases, key=lambda case: case.file) for row in corpus.expected_batches(case)]
    stats = collected(MODERN / name)
    assert (stats.batches, stats.bytes) == (len(rows), sum(row["size"] for row in rows))
    assert stats.records == sum(row["count"] for row in rows)
    assert {codec: one.batches for codec, one in stats.codecs.items()} == Counter(row["compression"] for row in rows)
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
    assert (min(first for first, _ in times), max(last for _, last in times)) == (stats.first_time, stats.last_time)


def late(rows: list[dict]) -> int:
    """Batches whose time is before that of an earlier one."""
    times = [row["maxTimestamp"] for row in rows]
    return sum(time < max(times[:index], default=time) for index, time in enumerate(times))


def test_ratios_are_those_of_unpacked_batches():
    stats = collected(MODERN / "codec-gzip-0")
    codec = stats.codecs["gzip"]
    assert 0 < codec.sampled <= codec.batches
    assert codec.ratio == codec.sampled_plain / codec.sampled_packed
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
    collector.add(b"".join(offset.to_bytes(8, "big") + one[8:] for offset in offsets), "a", None, is_repeatable=True)
    stats = collector.stats
    assert len(stats.by_offset.points) <= 120
    assert sum(point.bytes for point in stats.by_offset.points) == stats.bytes == 6 * len(one)
    assert sum(point.records for point in stats.by_offset.points) == stats.records == 12
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
    assert told["by_offset"]["points"][0]["bytes"] > 0
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
    assert (done.code, done.err) == (1, "logsegment: 1 finding of severity error, told in the page; `logsegment verify` lists all\n")
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
    for path, switch in ((MODERN / "codec-gzip-0", []), (TRANSACTIONS, []), (DAMAGED, []), (MODERN / "codec-none-0", ["--experimental"])):
        (told,) = run("stats", "--json", "--what-if", "v3", *switch, path).lines
        saved = told["what_if_v3"]
        assert saved["batches"] > 0
        assert 9 <= saved["per_batch"] <= 12
        assert 1 <= saved["per_record"] < 1.2
        assert saved["header_bytes"] + saved["per_record"] * saved["records"] == pytest.approx(saved["plain"] - saved["plain_main"])
        if path == DAMAGED:
            assert 0 < saved["left_out"] < told["bytes"]
        else:
            assert (saved["batches"], saved["records"], saved["stored"], saved["left_out"]) == (
                told["batches"],
                told["records"],
                told["bytes"],
                0,
            )
        if "gzip" in told["codecs"]:
            assert saved["main"] < saved["repacked"] + saved["records"]
            assert 0 < saved["unpacked_additional"] < saved["unpacked_main"] < saved["unpacked"]
        assert min(saved["seconds"], saved["seconds_main"], saved["seconds_additional"]) > 0
    done = run("stats", "--what-if", "v3", CODEC_FILE)
    assert done.code == 0
    assert "instead of 61" in done.text
    assert "metadata first" in done.text
    html = tmp_path / "stats.html"
    assert run("stats", "--what-if", "v3", "--html", html, CODEC_FILE).code == 0
    assert "What if v3" in html.read_text()
    piped = run("stats", "--what-if", "v3", "--json", "-", stdin=CODEC_FILE.read_bytes()).lines[0]["what_if_v3"]
    direct = run("stats", "--what-if", "v3", "--json", CODEC_FILE).lines[0]["what_if_v3"]
    assert {name: value for name, value in piped.items() if "seconds" not in name} == {
        name: value for name, value in direct.items() if "seconds" not in name
    }
    assert "what_if_v3" not in run("stats", "--json", CODEC_FILE).lines[0]
    assert run("stats", "--what-if", "v4", CODEC_FILE).code == 2


def test_every_file_of_the_corpus_has_statistics_and_a_page():
    seen = 0
    for case in corpus.cases():
        collector = Collector(is_sampling=seen % 8 == 0)
        collector.add(case.path.read_bytes(), case.file, None, is_repeatable=True, format=case.format)
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
    # The headless shell does not connect ahead of a request.
    assert seen - local <= {"http://ahead.invalid"}


@needs_browser
def test_a_browser_shows_something_in_each_plot(tmp_path: Path):
    """Each in a band of its own, so that one that is empty is seen."""
    drawn = [plot for plot in plots_of(collected(MODERN / "idempotent-mixed-codecs-0")) if plot]
    titles = [plot.split("</h2>")[0].rpartition(">")[2] for plot in drawn]
    assert titles == [
        "Bytes over offsets",
        "Records over offsets",
        "Times over offsets",
        "Bytes over time",
        "Records over time",
        "Batches by size in bytes",
        "Batches by records",
        "Unpacked bytes for a packed one, by codec",
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
    red = sum(pixel == (0xB3, 0x26, 0x1E) for row in seen.pixels[2 * band : 3 * band] for pixel in row)
    assert red > 20, "batches that are late are not seen"


def test_plots_without_anything_to_show_are_left_out():
    """No ratios were taken, and no batch has a time."""
    collector = Collector(is_sampling=False)
    collector.add(ls.encode(pa.table({"value": [b"v"] * 9, "timestampMs": [-1] * 9}), compression="gzip"), "a", None, is_repeatable=True)
    shown = "".join(plots_of(collector.stats))
    assert "Bytes over offsets" in shown
    assert "Times over" not in shown
    assert "by codec" not in shown


def test_many_torn_tails_do_not_hide_an_error(tmp_path: Path):
    data = CODEC_FILE.read_bytes()
    bad = bytearray(data)
    bad[16] = 9
    for index in range(101):
        (tmp_path / f"{index:020}.log").write_bytes(data[:100])
    (tmp_path / f"{101:020}.log").write_bytes(bytes(bad))
    done = run("stats", "--json", tmp_path)
    assert done.code == 1
    told = json.loads(done.out)
    # The last file is also named after an offset that it does not begin with.
    assert told["damage_counts"] == {"info": 101, "error": 2}
    assert len(told["damage"]) == 100


def test_the_page_shows_no_setting_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The title names what was looked at, as people may see it."""
    written = tmp_path / "page.html"
    monkeypatch.setattr(stats_verb, "segments_of", lambda paths: [])
    stats_verb.stats.main(["--html", str(written), "s3://AKIA:SECRETWORD@bucket/orders-0"], standalone_mode=False)
    assert "SECRETWORD" not in written.read_text()
    assert "s3://bucket/orders-0" in written.read_text()

"""`logsegment verify`: what is damaged, where, what is safe; for people, for programs, as an exit code."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

import corpus
import hostile
import logsegment as ls
from cli_process import CODEC, CODEC_FILE, DAMAGED, MODERN, TORN, run
from every import every
from logsegment.cli.plugin_registries import ABSENT

#: Readable, but a timestamp is below -1.
WARNED = MODERN / "edge-records-0/00000000000000000009.log"
#: Those that fit into memory many times over.
HOSTILE = [case for case in hostile.cases() if not case.is_bomb]


def test_a_clean_file_is_one_line():
    done = run("verify", CODEC_FILE)
    assert (done.code, done.err) == (0, "")
    assert done.text == f"{CODEC_FILE}: clean. 15 batches with 240 records, offsets 0 to 239\n"


def test_damage_is_reported_with_bytes_and_offsets():
    done = run("verify", DAMAGED)
    assert done.code == 1
    assert done.text.splitlines()[:6] == [
        f"{DAMAGED}: DAMAGED, 1 error. Valid: 2 batches with 5 records, offsets between 0 and 1,001",
        "  Lost: 259 bytes in 1 place",
        "    bytes 198 to 456: records between offsets 2 and 1,000",
        "  Safe offsets:",
        "    0 to 2 (1 batch)",
        "    1,000 to 1,001 (1 batch)",
    ]
    assert re.search(r"error +V2-31 +198 +100 +checksum mismatch", done.text)


def test_a_name_that_the_batches_contradict_is_an_error(tmp_path: Path):
    """SEG-1: indexes, offset look-ups and the order of a directory all count from the name. Compaction may make a segment begin later."""
    size = run("batches", "--json", CODEC_FILE).lines[0]["size"]
    renamed = tmp_path / "00000000000000000500.log"
    renamed.write_bytes(CODEC_FILE.read_bytes())
    done = run("verify", "--json", renamed)
    finding, summary = done.lines
    assert (finding["rule"], finding["severity"], finding["baseOffset"], done.code) == ("SEG-1", "error", 0, 1)
    assert summary["state"] == "damaged"
    compacted = tmp_path / "later/00000000000000000000.log"
    compacted.parent.mkdir()
    compacted.write_bytes(CODEC_FILE.read_bytes()[size:])
    assert run("verify", "--fail-on", "warning", compacted).code == 0


def test_an_unfinished_end_is_explained():
    done = run("verify", TORN)
    size = TORN.stat().st_size
    finding = ls.validate(ls.FileSource(str(TORN))).findings[-1]
    assert done.code == 0
    assert f"It ends with {size - finding.position:,} bytes of an unfinished batch: usual while a broker writes" in done.text


def test_a_file_that_is_not_a_segment(tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("These are notes, and no record batches at all.\n" * 10)
    done = run("verify", path)
    assert done.code == 1
    assert "notes.txt: NOT A LOG SEGMENT" in done.text
    assert "not a log segment: looks like text" in done.text


def test_all_modern_segments_of_the_corpus_are_readable():
    done = run("verify", "--json", MODERN)
    summaries = [line for line in done.lines if line["type"] == "summary"]
    segments = [case for case in corpus.cases() if case.set == "modern-4.1.0" and case.kind == "segment"]
    assert done.code == 0
    assert len(summaries) == len(segments)
    assert sum(line["batches"] for line in summaries) == sum(case.batches for case in segments)
    assert sum(line["records"] for line in summaries) == sum(case.records for case in segments)


@pytest.mark.slow
def test_json_lines_are_the_findings_of_validate_for_every_hostile_case():
    """One process for all of them; the largest have one finding too."""
    done = run("verify", "--json", *(case.path for case in HOSTILE))
    assert done.code == 2, "some are over a limit"
    corpus.seen_all([line for line in done.lines if line["type"] == "summary"], len(HOSTILE))
    for case in HOSTILE:
        lines = [line for line in done.lines if line["file"] == str(case.path)]
        report = ls.validate(ls.FileSource(str(case.path)), **case.options, codecs=ABSENT)
        assert lines[:-1] == [{"type": "finding", "file": str(case.path)} | found.to_dict() for found in report.findings]
        summary = lines[-1]
        assert summary["ok"] == report.ok
        assert {name: summary[f"{name}s"] for name in report.counts} == report.counts


@every("case", HOSTILE)
def test_what_is_safe_is_what_decode_gives_when_it_skips(case: hostile.HostileCase):
    """And what is lost adds up with it to the file."""
    report = ls.validate(ls.FileSource(str(case.path)), **case.options)
    rules = {finding.rule for finding in report.findings}

    found = report._surveys[0]
    in_memory = ls.validate(case.path.read_bytes(), **case.options)
    if case.format != "0.7" and "SEG-16" not in rules:
        assert (in_memory.lost, in_memory.safe_offsets) == (report.lost, report.safe_offsets), "positions in a buffer are the same"
    columns = ["offset", "entryPosition"]
    stream = ls.decode(ls.FileSource(str(case.path)), columns=columns, on_error="skip", unreadable="skip", control=True, **case.options)
    rows = stream.to_pyarrow().to_pylist()
    # A batch that needs a plugin or a quirk is whole, and not read. The header of a message of magic 1 has no count.
    wanting = {finding.position for finding in report.undecompressed}
    headers = ls.batches(ls.FileSource(str(case.path)), on_error="skip", unreadable="skip").to_pylist() if wanting else []
    assert found.records == len(rows) + sum(row["count"] or 0 for row in headers if row["position"] in wanting)
    if not {"FND-2", "FND-3"} & rules:  # there a record lies outside of its batch's offsets
        assert all(any(run.first_offset <= row["offset"] <= run.last_offset for run in found.valid) for row in rows)
    assert not any(place.position <= row["entryPosition"] < place.position + place.length for place in found.lost for row in rows)
    assert bool(found.lost) == (report.counts["error"] > len(wanting) or "SWALLOWED" in rules)


def test_batches_behind_a_length_that_was_made_larger_are_found_and_judged(tmp_path: Path):
    """A reader that follows the length ends there; with the damage behind it nothing but the intact ones is safe."""
    data = bytearray(CODEC_FILE.read_bytes())
    sizes = [line["size"] for line in run("batches", "--json", CODEC_FILE).lines]
    data[8:12] = (0x07FFFFFF).to_bytes(4, "big")
    broken = sum(sizes[:3]) + sizes[3] - 1
    data[broken] ^= 1
    path = tmp_path / "swallowed.log"
    path.write_bytes(data)
    done = run("verify", "--json", path)
    found = ls.decode(ls.FileSource(str(path)), on_error="skip", columns=["offset"]).to_pyarrow()["offset"].to_pylist()
    summary = done.lines[-1]
    assert sum(part["records"] for part in summary["safe"]) == len(found) == summary["records"]
    assert [(place["position"], place["length"]) for place in summary["lost"]] == [(0, sizes[0]), (sum(sizes[:3]), sizes[3])]
    text = run("verify", path).text
    assert "  Lost: " in text
    assert "The length at byte 0 is wrong" in text
    assert text.startswith(f"{path}: HIDES DATA, 2 warnings. Valid: ")


def test_an_endless_row_of_such_lengths_ends_the_search_and_says_so(tmp_path: Path):
    data = CODEC_FILE.read_bytes()
    lying = data[:8] + (0x07FFFFFF).to_bytes(4, "big") + data[12:]
    path = tmp_path / "many.log"
    path.write_bytes(lying * 30)
    summary = run("verify", "--json", path).lines[-1]
    assert summary["safe"] is None
    assert len(summary["lost"]) == 8
    assert "Too many damaged places" in run("verify", path).text


@pytest.mark.slow
def test_findings_that_are_only_counted_leave_no_promise_of_safety(tmp_path: Path):
    """Validation keeps the first hundred thousand; an error behind them is known, but not where it ends."""
    warned = WARNED.read_bytes()[70692:70798]
    path = tmp_path / "warned.log"
    path.write_bytes(warned * 60_000 + DAMAGED.read_bytes())
    done = run("verify", "--json", path)
    assert done.code == 1
    assert done.lines[-1]["errors"] == 1
    assert done.lines[-1]["safe"] is None
    assert "Safe offsets" not in run("verify", path).text


def test_findings_fail_from_the_severity_on_that_is_named():
    assert run("verify", WARNED).code == 0
    assert "readable, 13 warnings" in run("verify", WARNED).text
    assert run("verify", "--fail-on", "warning", WARNED).code == 1
    assert run("verify", "--fail-on", "warning", CODEC).code == 0
    assert run("verify", "--fail-on", "warning", DAMAGED).code == 1
    assert run("verify", "--fail-on", "info", CODEC).code == 2


def test_an_unfinished_end_is_clean_unless_it_must_not_be():
    usual, strict = run("verify", TORN), run("verify", "--strict-tail", TORN)
    assert (usual.code, strict.code) == (0, 1)
    assert ": clean. " in usual.text
    assert re.search(r"info +L8-14", usual.text)
    assert ": DAMAGED" in strict.text


def test_depth_decides_what_is_looked_at():
    path = corpus.TESTS / "hostile/data/v2-gzip-bad-crc32-trailer.log"
    assert run("verify", path).code == 1
    assert run("verify", "--depth", "headers", path).code == 0
    assert run("verify", "--no-crc", DAMAGED).code == 0


def test_a_stream_is_verified_but_not_looked_at_twice():
    done = run("verify", "-", stdin=DAMAGED.read_bytes())
    assert done.code == 1
    assert "(stdin): DAMAGED, 1 error" in done.text
    assert "this input was a stream" in done.text
    lines = run("verify", "--json", "-", stdin=DAMAGED.read_bytes()).lines
    assert [line["rule"] for line in lines if line["type"] == "finding"] == ["V2-31", "ORD-3"]
    assert lines[-1]["safe"] is None
    assert run("verify", "-", stdin=CODEC_FILE.read_bytes()).text == "(stdin): clean. 15 batches with 240 records\n"
    assert run("verify", "-", stdin=b"").text == "(stdin): clean. 0 batches\n"


def test_an_unreadable_file_does_not_hide_the_others(tmp_path: Path):
    gone = tmp_path / "gone-0"
    gone.mkdir()
    (gone / "00000000000000000000.log").write_bytes(CODEC_FILE.read_bytes())
    broken = gone / "00000000000000000240.log"
    os.mkfifo(tmp_path / "pipe")
    broken.symlink_to("/proc/self/mem")
    done = run("verify", gone)
    assert done.code == 2
    assert str(broken) in done.err
    assert "1 clean, 1 unreadable" in done.err
    assert "clean. 15 batches" in done.text


def test_several_files_are_summed_up_on_stderr():
    done = run("verify", CODEC, WARNED, DAMAGED)
    assert done.code == 1
    assert done.err == "logsegment: 3 files: 1 clean, 1 readable, 1 damaged; 1 error; 13 warnings\n"


def test_quiet_lists_only_files_with_findings():
    done = run("verify", "--quiet", CODEC, WARNED, DAMAGED)
    assert done.err == ""
    assert [line.partition(": ")[0] for line in done.text.splitlines() if line.startswith("/")] == [str(WARNED), str(DAMAGED)]
    assert run("verify", "--quiet", CODEC).out == b""


def test_much_damage_is_cut_short_for_people_and_whole_for_programs(tmp_path: Path):
    path = tmp_path / "many.log"
    path.write_bytes(DAMAGED.read_bytes() * 50)
    done = run("verify", path)
    assert done.code == 1
    assert "  and 30 more places; --json has all of them" not in done.text
    assert "    and 30 places more; --json has all of them" in done.text
    assert len(done.text.splitlines()) < 80
    summary = run("verify", "--json", path).lines[-1]
    assert len(summary["lost"]) == 50
    assert sum(place["length"] for place in summary["lost"]) == 50 * 259
    assert sum(run["records"] for run in summary["safe"]) == 50 * 5


def test_a_file_without_a_valid_batch_has_no_safe_offsets(tmp_path: Path):
    path = tmp_path / "noise.log"
    path.write_bytes(b"\xff" * 5000)
    done = run("verify", path)
    assert done.code == 1
    assert "No batch is valid." in done.text
    assert "bytes 0 to 4,999: unknown offsets, since no valid batch is near" in done.text


def test_names_with_control_characters_do_not_reach_the_terminal(tmp_path: Path):
    path = tmp_path / "a\x1b[2J\nb.log"
    path.write_bytes(DAMAGED.read_bytes())
    for verb in ("verify", "batches", "cat"):
        done = run(verb, path)
        assert done.code == 1
        assert "\x1b" not in done.text + done.err
    assert run("verify", "--json", path).lines[-1]["file"] == str(path)
    undecodable = os.fsencode(tmp_path) + b"/\xff.log"
    with open(undecodable, "wb") as file:
        file.write(DAMAGED.read_bytes())
    done = run("verify", "--json", os.fsdecode(undecodable))
    assert json.dumps(done.lines[-1]["file"]).endswith('\\\\xff.log"')


def test_batches_of_magic_3_are_counted_where_they_are_read(tmp_path: Path):
    whole = ls.convert(ls.FileSource(CODEC_FILE), to="v3").data
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(whole)
    told = run("verify", path, "--format", "v3")
    assert told.code == 0
    assert re.search(rb"clean\. 15 batches with [1-9]", told.out)

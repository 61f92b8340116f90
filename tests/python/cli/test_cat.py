"""`logsegment cat`: which records, in which form, from where, to where."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import logsegment as ls
from cli_process import CODEC, CODEC_FILE, DAMAGED, MODERN, TORN, TRANSACTIONS, offsets, read_table, run, start
from logsegment._options import is_of_keys, is_of_values
from logsegment.cli.value_types import RECORD_COLUMNS
from made_logs import make_partition
from slow import slow_after

MULTI = MODERN / "multi-segment-0"
EDGES = MODERN / "edge-records-0"


def test_a_line_is_the_record_with_where_it_was_found():
    first = run("cat", CODEC, "--limit", "1").lines[0]
    assert list(first) == ["topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers"]
    assert first["topic"] == "codec-lz4"
    assert first["partition"] == 0
    assert first["timestamp"] == 1700000000013
    assert first["timestampType"] == "CreateTime"
    assert [header["key"] for header in first["headers"]] == ["dup", "h-delta", ""]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("10..13", [10, 11, 12]), ("238..", [238, 239]), ("..2", [0, 1]), ("7", [7]), ("5..5", []), ("240..", [])],
)
def test_offsets_have_an_exclusive_end(asked: str, expected: list[int]):
    done = run("cat", CODEC, "--offset", asked)
    assert (done.code, offsets(done)) == (0, expected)


@pytest.mark.parametrize("asked", ["..", "3..1", "a..b", "1...2", "-1", "99999999999999999999"])
def test_offsets_that_are_none_are_a_usage_error(asked: str):
    done = run("cat", CODEC, f"--offset={asked}")
    assert (done.code, done.out) == (2, b"")
    assert "--offset" in done.err


def test_a_topic_option_names_records_without_a_directory(tmp_path: Path):
    unnamed = tmp_path / "found"
    unnamed.mkdir()
    shutil.copyfile(CODEC_FILE, unnamed / CODEC_FILE.name)
    assert run("cat", unnamed, "--limit", "1").lines[0]["topic"] is None
    assert run("cat", unnamed, "--topic", "orders", "--limit", "1").lines[0]["topic"] == "orders"
    assert run("cat", CODEC, "--topic", "codec-lz4", "--limit", "1").lines[0]["topic"] == "codec-lz4"


@pytest.mark.parametrize("verb", ["cat", "batches", "verify", "stats", "find", "follow", "txn", "salvage", "convert", "lz4"])
def test_a_topic_and_a_partition_choose_from_a_tree(verb: str, tmp_path: Path):
    """The same of every verb that takes paths: only the chosen partition is read, whatever the others are."""
    tree = tmp_path / "tree"
    for name in ("orders-0", "orders-1", "payments-0"):
        copy_partition(CODEC, tree).rename(tree / name)
    next((tree / "payments-0").glob("*.log")).write_bytes(b"\xff" * 4000)
    more = {
        "find": ["--offset", "3", "--json"],
        "follow": ["--offset", "0", "--idle-exit", "0"],
        "salvage": ["--output", tmp_path / "out"],
        "convert": ["--to", "v2", "--output", tmp_path / "out"],
        "verify": ["--json"],
        "batches": ["--json"],
        "stats": ["--json"],
        "cat": ["--columns", "topic,partition"],
    }.get(verb, [])
    command = ["lz4", "check"] if verb == "lz4" else [verb]
    done = run(*command, tree, "--topic", "orders", "--partition", "1", *more)
    assert done.code == 0, done.err
    said = done.text + done.err
    assert "payments" not in said
    assert "orders-0" not in said
    if verb == "cat":
        assert {(line["topic"], line["partition"]) for line in done.lines} == {("orders", 1)}
    if verb in ("convert", "salvage"):
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["orders-1"]
    wrong = run(*command, tree, "--topic", "order", *(["--output", tmp_path / "other"] if verb in ("convert", "salvage") else more))
    assert (wrong.code, "no such topic: order; there are orders, payments" in wrong.err) == (2, True)


def test_paths_may_be_patterns(tmp_path: Path):
    done = run("cat", f"{CODEC.parent}/codec-*-0", "--limit", "100000", "--columns", "topic")
    assert done.code == 0
    assert {line["topic"] for line in done.lines} >= {"codec-lz4", "codec-none"}
    none = run("cat", tmp_path / "nothing-*")
    assert none.code == 2
    assert "matches" in none.err


@pytest.mark.parametrize("arguments", [["--limit", "0"], ["--offset", "5..5"], ["--offset", "..0"]])
def test_a_table_without_rows_has_its_columns(arguments: list[str], tmp_path: Path):
    done = run("cat", MULTI, *arguments, "--parquet", tmp_path / "out", "--columns", "offset,key,timestamp")
    assert done.code == 0, done.err
    table = pq.read_table(tmp_path / "out")
    assert (table.num_rows, table.column_names) == (0, ["offset", "key", "timestamp"])
    assert run("cat", MULTI, *arguments, "--columns", "offset").out == b""


def test_times_are_iso_on_request():
    (plain,) = run("cat", CODEC, "--limit", "1").lines
    (iso,) = run("cat", CODEC, "--limit", "1", "--iso").lines
    moment = datetime.fromisoformat(iso["timestamp"])
    assert round(moment.timestamp() * 1000) == plain["timestamp"]
    assert run("cat", CODEC, "--iso", "--arrow", "x").code == 2
    batch = run("batches", CODEC, "--json", "--iso").lines[0]
    assert datetime.fromisoformat(batch["maxTimestamp"]) >= datetime.fromisoformat(batch["baseTimestamp"])


def test_relative_times_count_from_now():
    lines = run("cat", CODEC).lines
    latest = max(line["timestamp"] for line in lines)
    now = str(latest + 3_600_000)
    wanted = [line["offset"] for line in lines if line["timestamp"] >= latest]
    assert offsets(run("cat", CODEC, "--since", "-1h", "--now", now)) == wanted
    assert offsets(run("cat", CODEC, "--now", now, "--until", "-60m")) == [line["offset"] for line in lines if line["timestamp"] < latest]
    # The segments are of 2023.
    assert run("cat", CODEC, "--since", "-2w").lines == []
    assert run("cat", CODEC, "--since", "-2y").code == 2


def test_segments_out_of_the_range_are_not_even_opened(tmp_path: Path):
    partition = copy_partition(MULTI, tmp_path)
    segments = sorted(partition.iterdir())
    middle = int(segments[1].stem)
    for other in (segments[0], segments[2]):
        other.write_bytes(b"\xff" * 4000)
    done = run("cat", partition, "--offset", f"{middle}..{int(segments[2].stem)}")
    assert done.code == 0
    assert offsets(done) == list(range(middle, int(segments[2].stem)))
    # A file that is named itself is read, whatever its name says.
    assert run("cat", segments[0], segments[1], "--offset", f"{middle}..").code == 1


def test_times_choose_by_timestamp_and_none_has_no_place_in_time():
    everything = run("cat", EDGES).lines
    assert {line["timestamp"] for line in everything} >= {-1, 0}
    for since, until in [(0, None), (None, 1), (-50000, 1), (1, 0), (1700000000000, 1700000001000)]:
        options = [f"--since={since}"] * (since is not None) + [f"--until={until}"] * (until is not None)
        low, high = since if since is not None else -(2**63), until if until is not None else 2**63
        expected = [line for line in everything if line["timestamp"] != -1 and low <= line["timestamp"] < high]
        assert run("cat", EDGES, *options).lines == expected


def test_times_may_be_written_in_iso_and_are_utc_unless_they_name_a_zone():
    lines = run("cat", CODEC).lines
    moment = lines[100]["timestamp"]
    expected = [line for line in lines if line["timestamp"] >= moment]
    assert 0 < len(expected) < len(lines)
    utc = datetime.fromtimestamp(moment / 1000, UTC)
    for written in (utc.isoformat(), utc.replace(tzinfo=None).isoformat(), utc.isoformat().replace("+00:00", "Z")):
        assert run("cat", CODEC, "--since", written, TZ="Asia/Tokyo").lines == expected
    # A microsecond later is after the record of that millisecond.
    later = run("cat", CODEC, "--since", (utc + timedelta(microseconds=1)).isoformat()).lines
    assert later == [line for line in lines if line["timestamp"] > moment]
    assert run("cat", CODEC, "--since", "yesterday").code == 2


def test_keys_choose_by_text_or_by_bytes():
    lines = run("cat", CODEC).lines
    keys = {line["key"] for line in lines if isinstance(line["key"], str)}
    one, other = sorted(keys)[:2]
    assert run("cat", CODEC, "--key", one).lines == [line for line in lines if line["key"] == one]
    both = run("cat", CODEC, "--key", one, "--key-base64", base64.b64encode(other.encode()).decode()).lines
    assert both == [line for line in lines if line["key"] in (one, other)]
    assert run("cat", CODEC, "--key", "no such key").out == b""
    assert run("cat", CODEC, "--key-base64", "?").code == 2


def test_the_empty_key_is_not_the_missing_one():
    lines = run("cat", EDGES).lines
    assert any(line["key"] is None for line in lines)
    empty = [line for line in lines if line["key"] == ""]
    assert run("cat", EDGES, "--key", "").lines == empty != []


def test_conditions_need_no_column_of_theirs_in_the_output():
    lines = run("cat", CODEC).lines
    key = next(line["key"] for line in lines if line["key"])
    found = run("cat", CODEC, "--columns", "offset", "--key", key, "--since", "0").lines
    assert found == [{"offset": line["offset"]} for line in lines if line["key"] == key]


def test_columns_are_in_the_order_in_which_they_are_named():
    line = run("cat", CODEC, "--limit", "1", "--columns", "value,timestamp,offset,timestampMs,compression").lines[0]
    assert list(line) == ["value", "timestamp", "offset", "timestampMs", "compression"]
    assert line["timestamp"] == line["timestampMs"]
    assert run("cat", CODEC, "--columns", "offset,nonsense").code == 2
    assert run("cat", CODEC, "--columns", "offset,offset").code == 2


def test_the_command_line_knows_all_columns_of_the_core():
    # Columns of decoded values need schemas.
    columns = [name for name in RECORD_COLUMNS if not (is_of_values(name) or is_of_keys(name))]
    assert ls.decode(b"", columns=columns).schema.names == columns
    line = run("cat", CODEC, "--limit", "1", "--columns", ",".join(columns)).lines[0]
    assert list(line) == columns
    with pytest.raises(ValueError, match="nonsense"):
        ls.decode(b"", columns=["nonsense"])


def test_stored_times_that_no_timestamp_column_holds_are_written_in_full():
    values = [line["timestamp"] for line in run("cat", EDGES).lines]
    micros = ls.decode(ls.FileSource(str(EDGES / "00000000000000000009.log")), columns=["timestamp"]).to_pyarrow()
    assert None not in values
    assert max(values) * 1000 > 2**63 or micros["timestamp"].null_count == 0


def test_bytes_in_every_form_are_the_same_bytes():
    auto, b64, hexed, text = (values(form) for form in ("auto", "base64", "hex", "utf8"))
    assert {type(value) for value in auto} == {str, dict, type(None)}
    for a, b, h, t in zip(auto, b64, hexed, text, strict=True):
        if a is None:
            assert b is h is t is None
            continue
        raw = base64.b64decode(b, validate=True)
        assert bytes.fromhex(h) == raw
        # Java, as Kafka's tools show it, has one replacement for an encoded surrogate and Python three.
        assert t.replace("\ufffd", "") == raw.decode("utf-8", "replace").replace("\ufffd", "")
        assert a == (t if isinstance(a, str) else {"base64": b})


def values(form: str) -> list[Any]:
    """Keys, values and header values of many records."""
    lines = run("cat", MODERN, "--bytes", form, "--columns", "key,value,headers").lines
    headers = [header["value"] for line in lines for header in line["headers"]]
    return [line[name] for name in ("key", "value") for line in lines] + headers


@pytest.mark.parametrize("limit", [0, 1, 7, 10_000])
def test_a_limit_counts_over_all_segments(limit: int):
    everything = run("cat", MULTI).out.splitlines()
    assert run("cat", MULTI, "--limit", str(limit)).out.splitlines() == everything[:limit]
    key = next(key for key in (json.loads(line)["key"] for line in reversed(everything)) if isinstance(key, str))
    matching = [line for line in everything if json.loads(line)["key"] == key]
    assert run("cat", MULTI, "--limit", str(limit), "--key", key).out.splitlines() == matching[:limit]


def test_control_records_come_when_asked_for_and_say_what_they_are():
    data, everything = run("cat", TRANSACTIONS).lines, run("cat", TRANSACTIONS, "--control").lines
    markers = [line for line in everything if line["controlType"]]
    assert {line["controlType"] for line in markers} == {"COMMIT", "ABORT"}
    assert [{**line, "controlType": None} for line in data] == [line for line in everything if not line["controlType"]]


def test_threads_change_nothing():
    assert run("cat", MODERN, "--threads", "3").out == run("cat", MODERN).out
    assert run("cat", MULTI, "--threads", "3", "--limit", "9").out == run("cat", MULTI, "--limit", "9").out


@pytest.mark.parametrize("threads", ["1", "2", "8"])
def test_damage_ends_the_output_after_the_records_before_it(threads: str):
    done = run("cat", DAMAGED, CODEC, "--threads", threads)
    assert (done.code, offsets(done)) == (1, [0, 1, 2])
    assert f"{DAMAGED}: [V2-31] at byte 198" in done.err
    assert "--on-error skip" in done.err


def test_damage_can_be_skipped_and_is_reported():
    done = run("cat", DAMAGED, "--on-error", "skip", "--quiet")
    assert (done.code, offsets(done)) == (1, [0, 1, 2, 1000, 1001])
    assert f"{DAMAGED}: error [V2-31] at byte 198" in done.err


def test_a_length_that_hides_the_batches_after_it_is_reported_as_damage(tmp_path: Path):
    """Found by a simulated history: the batch was skipped with exit code 0."""
    make_partition(tmp_path, "orders", 0, [list(range(12))], batch_bytes=100)
    log = tmp_path / "orders-0" / f"{0:020}.log"
    hidden = ls.batches(log).to_pylist()[1]
    data = bytearray(log.read_bytes())
    data[hidden["position"] + 9] ^= 1
    log.write_bytes(data)
    done = run("cat", log.parent, "--on-error", "skip", "--columns", "offset", "--quiet")
    assert (done.code, "SWALLOWED" in done.err) == (1, True)
    assert offsets(done) == [number for number in range(12) if not hidden["baseOffset"] <= number <= hidden["lastOffset"]]


def test_without_checksums_the_flipped_bit_goes_unseen():
    done = run("cat", DAMAGED, "--no-crc")
    assert done.code == 0
    assert len(offsets(done)) > 5


def test_an_unfinished_end_is_a_note_and_no_failure():
    done = run("cat", TORN)
    assert done.code == 0
    assert "info [L8-14]" in done.err
    assert run("cat", TORN, "--quiet").err == ""


def test_standard_input_and_pipes_are_read_like_files(tmp_path: Path):
    expected = [line | {"topic": None, "partition": None} for line in run("cat", CODEC).lines]
    assert run("cat", "-", stdin=CODEC_FILE.read_bytes()).lines == expected
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = start("cat", pipe, stdout=subprocess.PIPE)
    pipe.write_bytes(CODEC_FILE.read_bytes())
    assert [json.loads(line) for line in process.communicate(timeout=60)[0].splitlines()] == expected


def test_standard_input_is_read_once():
    assert run("cat", "-", "-").code == 2


def test_damage_in_which_no_wanted_offset_was_is_passed_by(tmp_path: Path):
    """As `logsegment.Log.records` and `find` have it: it is nothing of what was asked for."""
    partition = copy_partition(MULTI, tmp_path)
    (segment,) = partition.glob("*64.log")
    rows = ls.batches(ls.FileSource(segment)).to_pylist()
    hit, before = rows[len(rows) // 2], rows[len(rows) // 2 - 1]
    data = bytearray(segment.read_bytes())
    data[hit["position"] + 16] ^= 0x55
    segment.write_bytes(data)
    for begin, end, code in ((before["baseOffset"], hit["baseOffset"], 0), (before["lastOffset"], hit["lastOffset"] + 1, 1)):
        done = run("cat", segment, "--offset", f"{begin}..{end}")
        assert (done.code, offsets(done)) == (code, list(range(begin, hit["baseOffset"]))), done.err


def test_read_committed_of_one_segment_knows_the_transactions_of_its_partition():
    committed = offsets(run("cat", TRANSACTIONS, "--isolation", "read_committed"))
    by_file = [offsets(run("cat", file, "--isolation", "read_committed")) for file in sorted(TRANSACTIONS.glob("*.log"))]
    assert committed == [offset for found in by_file for offset in found]
    assert 0 < len(committed) < len(run("cat", TRANSACTIONS).lines)


def test_read_committed_of_a_directory_without_a_topic_is_that_of_its_segments(tmp_path: Path):
    """As `Segment` reads them: files that are named as segments are those of one partition."""
    shutil.copytree(TRANSACTIONS, tmp_path / "backup")
    for path in sorted(TRANSACTIONS.glob("*.log")):
        copied = run("cat", tmp_path / "backup" / path.name, "--isolation", "read_committed")
        assert offsets(copied) == offsets(run("cat", path, "--isolation", "read_committed"))


def test_read_committed_of_a_stream_knows_what_the_stream_holds():
    data = b"".join(file.read_bytes() for file in sorted(TRANSACTIONS.glob("*.log")))
    assert offsets(run("cat", "-", "--isolation", "read_committed", stdin=data)) == offsets(
        run("cat", TRANSACTIONS, "--isolation", "read_committed")
    )


def test_an_open_transaction_is_reported():
    """LSO: its segment alone does not say how the transaction ended."""
    first = (MODERN / "transactions-0/00000000000000000000.log").read_bytes()
    done = run("cat", "-", "--isolation", "read_committed", stdin=first)
    assert (done.code, done.out) == (0, b"")
    assert "a transaction is open from offset 0" in done.err
    assert run("cat", "-", "--isolation", "read_committed", "--quiet", stdin=first).err == ""


def test_a_tree_is_read_by_topic_partition_and_offset(tmp_path: Path):
    for name in ("b-10", "b-2", "a-0"):
        copy_partition(CODEC, tmp_path / "deep", name)
    (tmp_path / "deep" / "server.log").write_text("not a segment")
    (tmp_path / "deep" / "b-2" / "00000000000000000000.index").write_bytes(b"neither")
    lines = run("cat", tmp_path, "--columns", "topic,partition,offset").lines
    expected = [(topic, partition, offset) for topic, partition in (("a", 0), ("b", 2), ("b", 10)) for offset in range(240)]
    assert [tuple(line.values()) for line in lines] == expected


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
@pytest.mark.parametrize(
    "options",
    slow_after(
        2,
        [
            (),
            ("--since=0", "--until=1700000000100"),
            ("--key", "", "--key", "user-24"),
            ("--columns", "offset,key", "--limit", "20", "--since", "0"),
            ("--offset", "999999999999..", "--columns", "offset,headers"),
            ("--control", "--columns", "offset,controlType,timestampMs"),
        ],
    ),
    ids=" ".join,
)
def test_files_hold_the_rows_that_json_lines_have(kind: str, options: tuple[str, ...], tmp_path: Path):
    output = tmp_path / "out"
    done = run("cat", MODERN, f"--{kind}", output, *options)
    table = read_table(kind, output)
    assert (done.code, done.out) == (0, b"")
    assert f"wrote {table.num_rows:,} record" in done.err
    shown = [name for name in table.column_names if name != "timestamp"]
    lines = run("cat", MODERN, *options, "--bytes", "hex", "--columns", ",".join(shown)).lines
    assert [in_json(row) for row in table.select(shown).to_pylist()] == lines
    assert list(tmp_path.iterdir()) == [output]


def test_files_have_the_types_of_spark(tmp_path: Path):
    run("cat", CODEC, "--arrow", tmp_path / "out")
    expected = pa.schema(ls.decode(b"").schema)
    assert read_table("arrow", tmp_path / "out").schema == expected
    run("cat", CODEC, "--parquet", tmp_path / "out", "--overwrite")
    assert read_table("parquet", tmp_path / "out").schema.names == expected.names


def in_json(row: dict[str, object]) -> dict[str, object]:
    def written(value: object) -> object:
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, list):
            return [{name: written(part) for name, part in header.items()} for header in value]
        return value

    names = {0: "CreateTime", 1: "LogAppendTime", -1: "NoTimestampType"}
    return {name: names[value] if name == "timestampType" else written(value) for name, value in row.items()}  # type: ignore[index]


def copy_partition(source: Path, into: Path, name: str | None = None) -> Path:
    directory = into / (name or source.name)
    directory.mkdir(parents=True)
    for segment in source.glob("*.log"):
        (directory / segment.name).write_bytes(segment.read_bytes())
    return directory


def test_a_time_is_looked_up_before_records_are_read(tmp_path: Path):
    made = make_partition(tmp_path, "orders", 0, [list(range(200))])
    log = tmp_path / "orders-0" / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[ls.batches(log).to_pylist()[1]["position"] + 70] ^= 1
    log.write_bytes(data)
    assert run("cat", log).code == 1
    assert offsets(run("cat", log, "--since", str(made[150].timestamp))) == [*range(150, 200)]

"""`ls.inspect`: every byte of an entry has its field, damage is at its position, and any bytes give a tree."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import islice

import pytest

import corpus
import hostile
import logsegment as ls
from building import simple_batch
from cli_process import CODEC_FILE, DAMAGED, MODERN, TORN, TRANSACTIONS, run
from logsegment._inspect import value_text

#: Entries of a file that are looked at; the first ones are of every kind.
ENTRIES = 2
#: Rules that need more than one entry to be broken, and those about the end of the input.
OF_SEVERAL = {"ORD-1", "ORD-2", "ORD-3", "PRD-1", "PRD-2", "TRX-1", "TRX-2", "TRX-3", "TRX-4", "FND-17", "SWALLOWED", "UNSEARCHED"}


def leaves(field: ls.Field) -> Iterator[ls.Field]:
    return (below for _, below in field.walk() if not below.children)


def ensure_tiled(entry: ls.Field) -> int:
    """Fail unless the fields without children lie side by side, in the entry and in all that was unpacked; how many there are."""
    unpacked = [part for part in entry if part.inside is not None]
    parts = [(entry.start, [part for part in entry if part.inside is None])] + [(0, [part]) for part in unpacked]
    count = 0
    for at, fields in parts:
        for leaf in (leaf for field in fields for leaf in leaves(field)):
            assert leaf.start == at, f"{leaf.name} at {leaf.start}, not {at}"
            at += leaf.length
            count += 1
    for part in unpacked:
        assert sum(leaf.length for leaf in leaves(part)) == part.length
    assert sum(leaf.length for part in entry if part.inside is None for leaf in leaves(part)) == entry.length
    return count


def positions(case: corpus.Case) -> list[int]:
    rows = ls.batches(case.path.read_bytes(), format=case.format).to_pyarrow().column("position").to_pylist()
    return rows[:: max(1, len(rows) // ENTRIES)][:ENTRIES]


def options_of(case: corpus.Case) -> dict[str, str]:
    return {"format": case.format}


def test_the_fields_of_valid_entries_cover_every_byte_once():
    seen = 0
    for case in corpus.cases():
        data = case.path.read_bytes()
        for position in positions(case):
            for depth in ("headers", "metadata", "full"):
                entry = ls.inspect(data, at=position, depth=depth, records=3, **options_of(case))
                assert entry.start == position
                assert entry.ok, f"{case.file} at {position}: {entry!r}"
                ensure_tiled(entry)
                seen += 1
    assert seen > 150


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_fields_say_what_decode_gives(codec: str):
    data = (MODERN / f"codec-{codec}-0/00000000000000000000.log").read_bytes()
    rows = ls.decode(data, columns=["key", "value", "offset", "timestampMs", "headersRaw", "entryPosition"]).to_pyarrow().to_pylist()
    shown: list[tuple[bytes | None, bytes | None]] = []
    for position in sorted({row["entryPosition"] for row in rows}):
        entry = ls.inspect(data, at=position, records=None, value_bytes=1 << 20)
        where = "records" if codec == "none" or entry["attributes"].note.startswith("not compressed") else "decompressed"
        records = [field for field in entry[where] if field.name.startswith("record[")]
        assert len(records) == entry["recordsCount"].value
        for record in records:
            key, value = (record[name].value if record[f"{name}Length"].value >= 0 else None for name in ("key", "value"))
            shown.append((key, value))
            row = rows[len(shown) - 1]
            assert record["offsetDelta"].note == f"offset {row['offset']}"
            headers = [(h["headerKey"].value, h["headerValue"].value) for h in record if h.name.startswith("header[")]
            assert headers == [(pair["key"], pair["value"]) for pair in row["headersRaw"] or []]
    assert shown == [(row["key"], row["value"]) for row in rows]


def test_every_finding_of_validate_is_marked_in_the_tree():
    seen = 0
    for case in hostile.cases():
        if case.is_bomb:
            continue
        data = case.read()
        for finding in ls.validate(data, **case.options).findings:
            if finding.rule in OF_SEVERAL or finding.position >= len(data):
                continue
            entry = ls.inspect(data, at=finding.position, records=None, **case.options)
            rules = {problem.rule for _, field in entry.walk() for problem in field.problems}
            assert finding.rule in rules, f"{case.name}: {finding} is not in {entry!r}"
            ensure_tiled(entry)
            seen += 1
    assert seen > 250


def test_a_bad_checksum_shows_the_stored_and_the_computed_one():
    data = bytearray((MODERN / "codec-none-0/00000000000000000000.log").read_bytes())
    size = 12 + struct.unpack_from(">i", data, 8)[0]
    good = ls.inspect(bytes(data))
    assert good["crc"].note.endswith("matches")
    data[size - 1] ^= 1
    entry = ls.inspect(bytes(data))
    stored = struct.unpack_from(">I", data, 17)[0]
    (problem,) = entry["crc"].problems
    assert (problem.rule, problem.severity) == ("V2-31", "error")
    assert f"stored {stored:#010x}, computed 0x" in problem.message
    assert "does not match" in entry["crc"].note
    assert not entry.ok
    assert entry["records"][0]["length"].value > 0


def test_a_cut_entry_shows_the_fields_that_are_there():
    data = (MODERN / "codec-lz4-0/00000000000000000000.log").read_bytes()
    size = 12 + struct.unpack_from(">i", data, 8)[0]
    for length in [*range(1, 90), size - 1]:
        entry = ls.inspect(data[:length])
        assert (entry.start, entry.length) == (0, length)
        ensure_tiled(entry)
        assert any(problem.rule == "L8-14" for problem in entry.problems)
    entry = ls.inspect(data[:30])
    assert entry["crc"].value == struct.unpack_from(">I", data, 17)[0]
    assert entry["baseTimestamp"].value is None
    assert entry["baseTimestamp"].problems[0].message == "cut short: 3 of 8 bytes"


def test_what_cannot_be_framed_is_shown_as_far_as_it_goes():
    for name in ("v2-length-neg1", "v2-length-2147483647", "v2-magic-127", "v2-garbage-prefix"):
        (case,) = (case for case in hostile.cases() if case.name == name)
        data = case.read()
        position = next(f.position for f in ls.validate(data).findings if f.severity == "error")
        entry = ls.inspect(data, at=position)
        assert not entry.ok
        ensure_tiled(entry)
        assert "magic" in {field.name for field in entry}


def test_lz4_header_checksums_are_distinguished():
    broken = hostile_entry("v2-lz4-kafka-broken-checksum")
    assert "the broken one of Kafka 0.8.2 and 0.9" in broken["records"]["HC"].note
    # Shown all the same, and marked: readers refuse it.
    assert not broken.ok
    assert broken["decompressed"][0].name == "record[0]"
    assert hostile_entry("v2-lz4-ok")["records"]["HC"].note.startswith("header checksum: the correct one")
    wrong = hostile_entry("v2-lz4-wrong-header-checksum")
    assert "does not match, stored" in wrong["records"]["HC"].note
    block = hostile_entry("v2-lz4-block-checksum")["records"]["block[0]"]
    assert [field.name for field in block] == ["blockSize", "data", "blockChecksum"]


def hostile_entry(name: str, **options: object) -> ls.Field:
    """The damaged entry of a case, the first one when there is no damage."""
    (case,) = (case for case in hostile.cases() if case.name == name)
    data = case.read()
    found = ls.validate(data, **case.options).findings
    batches = ls.batches(data, check_crc=False, on_error="skip", **case.options).to_pyarrow().to_pylist()
    packed = next((row["position"] for row in batches if row["compression"] != "none"), 0)
    at = min((finding.position for finding in found), default=packed)
    return ls.inspect(data, at=at, **case.options, **options)


def test_codec_frames_have_the_names_of_their_formats():
    gzip = hostile_entry("v2-gzip-header-fields")["records"]["member[0]"]
    assert [field.name for field in gzip][:4] == ["ID1", "ID2", "CM", "FLG"]
    assert [field.name for field in gzip][-3:] == ["deflated", "CRC32", "ISIZE"]
    assert gzip["CRC32"].note.endswith("matches")
    chunks = hostile_entry("v2-snappy-xerial-many-chunks")["records"]
    assert [field.name for field in chunks][:2] == ["header[0]", "chunk[0]"]
    assert chunks["header[0]"]["version"].value == 1
    frame = hostile_entry("v2-zstd-content-checksum")["records"]["frame[0]"]
    assert {"Magic_Number", "Frame_Header_Descriptor", "block[0]", "Content_Checksum"} <= {field.name for field in frame}
    assert len(list(hostile_entry("v2-gzip-split-in-two-streams")["records"])) == 2
    assert hostile_entry("v2-zstd-skippable-frame-first")["records"][0].name == "skippable[0]"


def test_inner_messages_say_where_their_positions_count():
    entry = hostile_entry("v1-gzip-ok")
    names = "offset size crc magic attributes timestamp keyLength key valueLength value decompressed"
    assert [field.name for field in entry] == names.split()
    inner = entry["decompressed"][0]
    assert inner.start == 0
    assert inner["offset"].inside == "value, decompressed from gzip"
    assert inner["offset"].note.startswith("relative: offset ")
    assert entry["value"]["member[0]"].inside is None
    assert hostile_entry("v0-gzip-ok")["decompressed"][0]["offset"].note.startswith("absolute")


def test_nested_sets_of_0_7_are_unpacked_level_by_level():
    data = (hostile.HOSTILE / "0.7/data/nested-gzip-in-snappy.kafka").read_bytes()
    places = ls.batches(data, format="0.7").to_pyarrow().column("position").to_pylist()
    entry = max((ls.inspect(data, at=place, format="0.7") for place in places), key=len)
    levels = [field for field in entry if field.name == "decompressed"]
    assert len(levels) >= 2
    assert {field.inside for field in levels} == {"payload, decompressed from gzip", "payload, decompressed from snappy"}
    ensure_tiled(entry)


def test_control_records_are_shown_field_by_field():
    log = sorted(TRANSACTIONS.glob("*.log"))[0]
    rows = [row for row in ls.batches(log.read_bytes()).to_pyarrow().to_pylist() if row["isControl"]]
    record = ls.inspect(ls.FileSource(log), at=rows[0]["position"])["records"][0]
    assert record["key"]["type"].note in ("COMMIT", "ABORT")
    assert record["value"]["coordinatorEpoch"].value >= 0
    raft = next((MODERN / "__cluster_metadata-0").glob("*.log"))
    leader = next(row for row in ls.batches(raft.read_bytes()).to_pyarrow().to_pylist() if row["isControl"])
    value = ls.inspect(ls.FileSource(raft), at=leader["position"])["records"][0]["value"]
    assert value["leaderId"].value >= 0
    assert value["voters"][1]["voterId"].value >= 0


def test_s_p5_stray_bits_are_reported():
    entry = hostile_entry("v2-attributes-unknown-bits")
    assert "unused bits" in entry["attributes"].note
    assert any(problem.rule == "FND-6" for problem in entry["attributes"].problems)
    assert hostile_entry("v2-codec-id-5")["attributes"].note.startswith("plugin:0, ")


def test_records_and_values_are_limited_and_what_is_left_is_counted():
    data = (MODERN / "many-tiny-records-0/00000000000000000000.log").read_bytes()
    rows = ls.batches(data).to_pyarrow().to_pylist()
    large = max(rows, key=lambda row: row["count"])
    entry = ls.inspect(data, at=large["position"], records=2, value_bytes=0)
    (where,) = (part for part in entry if any(field.name == "record[0]" for field in part))
    assert [field.name for field in where] == ["record[0]", "record[1]", "notShown"]
    assert where["notShown"].note == f"records 2 to {large['count'] - 1}"
    ensure_tiled(entry)


def test_bombs_stay_within_limits():
    (case,) = (case for case in hostile.cases() if case.name == "bomb-zstd-one-record")
    entry = ls.inspect(case.read(), limits=ls.Limits(max_decompressed_bytes=1 << 20))
    assert not entry.ok
    assert any(problem.rule == "COD-6" for _, field in entry.walk() for problem in field.problems)


def test_any_bytes_at_any_position_give_a_tree():
    rng = random.Random(8)
    files = [case for case in corpus.cases() if case.path.stat().st_size > 200]
    seen = 0
    for _ in range(300):
        case = rng.choice(files)
        data = bytearray(case.path.read_bytes()[: 1 << 16])
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        at = rng.choice([0, 0, rng.randrange(len(data))])
        entry = ls.inspect(bytes(data), at=at, format=rng.choice([case.format, "0.7", "auto"]))
        assert entry.start == at
        ensure_tiled(entry)
        json.dumps(entry.to_dict())
        seen += 1
    for length in range(200):
        entry = ls.inspect(rng.randbytes(length + 1), format=rng.choice(["auto", "0.7"]))
        ensure_tiled(entry)
        assert repr(entry)
    assert seen == 300


def test_mistakes_are_value_errors():
    data = (MODERN / "codec-none-0/00000000000000000000.log").read_bytes()
    for options in ({"at": len(data) + 1}, {"at": len(data)}, {"offset": 10**9}, {"at": -1}, {"records": -1}):
        with pytest.raises(ValueError, match=r"at|offset|records"):
            ls.inspect(data, **options)
    with pytest.raises(ValueError, match="is the end of the input"):
        ls.inspect(b"")


def test_an_offset_leads_to_its_entry():
    data = CODEC_FILE.read_bytes()
    rows = ls.batches(data).to_pyarrow().to_pylist()
    for row in islice(rows, 0, None, 4):
        for offset in (row["baseOffset"], row["lastOffset"]):
            assert ls.inspect(data, offset=offset).start == row["position"]
            assert ls.Segment(CODEC_FILE).inspect(offset=offset).start == row["position"]


class Tags(HTMLParser):
    """Fails on a tag that is not closed, and on what would ask a server."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        assert not {"src", "href"} & {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_notebook_form_is_complete():
    entry = hostile_entry("v2-crc-bitflip")
    parser = Tags()
    parser.feed(entry._repr_html_())
    parser.close()
    assert not parser.open
    text = "".join(parser.texts)
    assert "checksum mismatch" in text
    assert "recordsCount" in text
    assert "@media(prefers-color-scheme:dark)" in text


def test_explain_prints_bytes_names_and_meanings():
    done = run("explain", CODEC_FILE)
    assert (done.code, done.err) == (0, "")
    lines = done.text.splitlines()
    assert lines[0].endswith(f"batch at byte 0, {12 + struct.unpack_from('>i', CODEC_FILE.read_bytes(), 8)[0]:,} bytes")
    (magic,) = (line for line in lines if " magic " in line and "format v2" in line)
    assert magic.split()[:3] == ["16", "02", "magic"]
    assert "\x1b" not in done.text


def test_explain_marks_damage_and_exits_with_1():
    finding = next(f for f in ls.validate(DAMAGED.read_bytes()).findings if f.severity == "error")
    done = run("explain", DAMAGED, "--at", str(finding.position))
    assert done.code == 1
    assert f"error {finding.rule}: checksum mismatch: stored" in done.text
    assert run("explain", TORN, "--at", "0").code in (0, 1)
    assert run("explain", DAMAGED).code == 0


def test_explain_as_json_and_html(tmp_path):
    done = run("explain", CODEC_FILE.parent, "--offset", "100", "--records", "all", "--json")
    (tree,) = done.lines
    assert tree["name"] == "batch"
    names = [child["name"] for child in tree["children"]]
    assert names[:5] == ["baseOffset", "batchLength", "partitionLeaderEpoch", "magic", "crc"]
    page = tmp_path / "batch.html"
    assert run("explain", CODEC_FILE, "--html", page).code == 0
    assert page.read_text().startswith("<!doctype html>")


def test_explain_rejects_invalid_arguments():
    assert run("explain", CODEC_FILE, "--at", "1", "--offset", "1").code == 2
    assert run("explain", CODEC_FILE, "--at", "999999999").code == 2
    assert run("explain", CODEC_FILE, "--records", "some").code == 2
    assert run("explain", TRANSACTIONS).code == 2
    assert run("explain", "-", stdin=CODEC_FILE.read_bytes()).code == 0


@pytest.mark.parametrize("ending", [b"", b"a", b"ab", b"abc"])
def test_text_is_text_wherever_it_is_cut(ending: bytes):
    """What is kept of a value may end inside of a character."""
    value = ending + "\N{EURO SIGN}".encode() * 200
    entry = ls.inspect(simple_batch([value]))
    shown = value_text(entry["records"][0]["value"])
    assert shown == repr(value.decode()[:40]) + "..."
    # A whole value that ends so is no text.
    whole = ls.inspect(simple_batch(["\N{EURO SIGN}".encode()[:-1]]))
    assert value_text(whole["records"][0]["value"]) == ""

"""Deviations of other writers that Kafka refuses: without `quirks` an error that names the quirk, with it the records, in every API."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import building
import hostile
import logsegment as ls
from cli_process import run
from logsegment.polars import scan

NAME = "00000000000000000000.log"
QUIRKS = ("lz4-header-checksum", "lz4-dependent-blocks")
#: Files of the hostile corpus, each with the quirk that it needs, and the records that are read with it.
CASES = {
    "v1-lz4-header-checksum-broken": ("lz4-header-checksum", 7),
    "v2-lz4-kafka-broken-checksum": ("lz4-header-checksum", 9),
    "v2-lz4-wrong-header-checksum": ("lz4-header-checksum", 9),
    "v2-lz4-dependent-blocks": ("lz4-dependent-blocks", 10),
    "v2-lz4-dependent-flag": ("lz4-dependent-blocks", 9),
}
#: The same rules are broken, and no quirk makes the bytes readable.
OTHERS = ("v2-lz4-flg-reserved-bit", "v2-lz4-dict-id", "v2-lz4-garbage", "v2-lz4-dependent-blocks-flag-lies")


def case_of(name: str) -> bytes:
    return next(case for case in hostile.cases() if str(case) == name).read()


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """A partition of one segment, and the quirk."""
    partition = tmp_path / "orders-0"
    partition.mkdir()
    (partition / NAME).write_bytes(case_of(request.param))
    return partition, CASES[request.param][0]


def offsets(stream: ls.RecordStream) -> list[int]:
    return [row["offset"] for row in stream.to_pylist()]


def test_decode_names_the_quirk_and_reads_with_it(case: tuple[Path, str]):
    partition, quirk = case
    data = (partition / NAME).read_bytes()
    for on_error in ("raise", "skip"):
        with pytest.raises(ls.CodecError, match=f"readable with the quirk {quirk}") as raised:
            ls.decode(data, on_error=on_error).read_all()
        assert raised.value.rule in ("COD-L8", "COD-L12")
        assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    others = offsets(ls.decode(data, columns=["offset"], unreadable="skip"))
    wanted = offsets(ls.decode(data, columns=["offset"], quirks={quirk}))
    assert set(others) < set(wanted)
    assert offsets(ls.decode(data, columns=["offset"], quirks=QUIRKS)) == wanted
    wrong = next(name for name in QUIRKS if name != quirk)
    with pytest.raises(ls.CodecError, match=quirk):
        ls.decode(data, quirks=[wrong]).read_all()


@pytest.mark.parametrize("name", OTHERS)
def test_an_error_names_a_quirk_only_if_nothing_else_is_wrong(name: str):
    data = case_of(name)
    for quirks in ((), QUIRKS):
        with pytest.raises(ls.CodecError) as raised:
            ls.decode(data, quirks=quirks).read_all()
        assert "quirk" not in str(raised.value)
    report = ls.validate(data)
    assert (report.undecompressed, report.state) == ([], "damaged")


def test_a_frame_that_needs_both_quirks_names_both():
    lz4 = pytest.importorskip("lz4.frame")
    value = b"the same words again and again " * 20_000
    frame = bytearray(lz4.compress(building.record(value=value), block_linked=True, block_size=4, store_size=False))
    frame[6] ^= 0x33
    data = building.batch(bytes(frame), count=1, attributes=building.LZ4)
    with pytest.raises(ls.CodecError, match="readable with the quirks lz4-header-checksum and lz4-dependent-blocks"):
        ls.decode(data).read_all()
    for given, missing in (QUIRKS, QUIRKS[::-1]):
        with pytest.raises(ls.CodecError, match=f"readable with the quirk {missing}$|readable with the quirk {missing} "):
            ls.decode(data, quirks=[given]).read_all()
    assert [row["value"] for row in ls.decode(data, quirks=QUIRKS).to_pylist()] == [value]


def test_every_reader_has_the_option(case: tuple[Path, str], tmp_path: Path):
    partition, quirk = case
    path, data = partition / NAME, (partition / NAME).read_bytes()
    wanted = offsets(ls.decode(data, columns=["offset"], quirks=[quirk]))
    readers: dict[str, Callable[..., list[int]]] = {
        "segment": lambda **how: offsets(ls.Segment(path).records(columns=["offset"], **how)),
        "log": lambda **how: offsets(ls.Log(partition).records(columns=["offset"], **how)),
        "find": lambda **how: [place.offset for place in ls.find(partition, start_offset=0, **how)],
        "polars": lambda **how: scan(partition, columns=["offset"], **how).collect()["offset"].to_list(),
        "array": lambda **how: [
            row["offset"] for row in pa.array(ls.decode_array(pa.array([data]), columns=["offset"], **how)).to_pylist()[0]
        ],
        "convert": lambda **how: offsets(ls.decode(ls.convert(data, compression="none", **how).data, columns=["offset"])),
    }
    for name, read in readers.items():
        with pytest.raises(ls.CodecError, match=quirk):
            read()
        assert read(quirks=[quirk]) == wanted, name
    assert ls.stats(partition, quirks=[quirk]).to_dict()
    assert ls.diff(partition, partition, quirks=[quirk]).to_dict()
    assert ls.inspect(data, quirks=[quirk])


def test_validate_and_salvage_do_not_call_it_lost(case: tuple[Path, str]):
    partition, quirk = case
    data = (partition / NAME).read_bytes()
    report, accepted = ls.validate(data), ls.validate(data, quirks={quirk})
    assert (report.ok, report.lost, len(report.undecompressed), report.state) == (False, [], 1, "undecompressed")
    assert (accepted.ok, accepted.undecompressed) == (True, [])
    assert [finding.severity for finding in accepted.findings if finding.rule in ("COD-L8", "COD-L12")] == ["warning"]
    kept, read = ls.salvage(data), ls.salvage(data, quirks={quirk})
    assert (kept.data, kept.lost, kept.ok, kept.undecodable) == (data, [], True, [])
    assert (kept.undecompressed, kept.needing_quirks, kept.to_dict()["needingQuirks"]) == (1, 1, 1)
    assert (read.data, read.undecompressed, read.needing_quirks) == (data, 0, 0)


def test_the_command_line_names_the_option(case: tuple[Path, str], tmp_path: Path):
    partition, quirk = case
    path, option = partition / NAME, ("--quirk", quirk)
    done = run("verify", path)
    assert (done.code, f"1 batch readable with --quirk {quirk}" in done.text, "Lost" in done.text) == (2, True, False)
    summary = run("verify", "--json", path).lines[-1]
    assert (summary["state"], summary["undecompressed"], summary["lost"]) == ("undecompressed", 1, [])
    assert run("verify", *option, path).code == 0
    done = run("salvage", path, "-o", tmp_path / "saved.log")
    assert (done.code, f"1 kept entry readable with --quirk {quirk}" in done.err, "left out" in done.err) == (0, True, False)
    assert (tmp_path / "saved.log").read_bytes() == path.read_bytes()
    done = run("cat", path)
    assert (done.code, f"the batch is not damaged; it is readable with --quirk {quirk}" in done.err) == (2, True)
    done = run("cat", *option, path)
    assert (done.code, len(done.lines)) == (0, len(ls.decode(path, quirks=[quirk]).read_all()))
    done = run("convert", *option, path, "-o", tmp_path / "new.log")
    assert (done.code, ls.validate(tmp_path / "new.log").ok) == (0, True)


def test_an_unknown_name_is_an_error_that_lists_the_names():
    with pytest.raises(ValueError, match='quirks must be "lz4-header-checksum" or "lz4-dependent-blocks", not \'lz5\''):
        ls.decode(b"", quirks=["lz5"])
    with pytest.raises(TypeError, match="not one string"):
        ls.decode(b"", quirks="lz4-dependent-blocks")
    done = run("cat", "--quirk", "lz5", "x.log")
    assert (done.code, all(name in done.err for name in QUIRKS)) == (2, True)


def test_every_verb_that_reads_has_the_options():
    from cli_verbs import VERBS

    without = {"completion", "lz4", "lz4 check", "lz4 fix", "lz4 break", "restore", "plugins", "schemas", "cluster"}
    for words, command in VERBS.items():
        verb = " ".join(words)
        options = {flag for param in command.params for flag in param.opts}
        if verb in without or (words[0] == "plugins" and verb != "plugins train"):
            assert "--quirk" not in options, verb
        else:
            assert {"--quirk", "--zstd-dictionary"} <= options, verb


@pytest.mark.parametrize("name", CASES)
def test_every_record_is_read(name: str):
    quirk, records = CASES[name]
    assert len(offsets(ls.decode(case_of(name), columns=["offset"], quirks=[quirk]))) == records


def test_dictionaries_reach_every_reader(tmp_path: Path):
    zstandard = pytest.importorskip("zstandard")
    samples = [f"the record number {number} of the topic orders of shop {number % 7}".encode() for number in range(2000)]
    dictionary = zstandard.train_dictionary(4096, samples)
    packed = zstandard.ZstdCompressor(dict_data=dictionary).compress(building.record(value=samples[7]))
    partition, file = tmp_path / "orders-0", tmp_path / "orders.dict"
    partition.mkdir()
    file.write_bytes(dictionary.as_bytes())
    (partition / NAME).write_bytes(building.batch(packed, count=1, attributes=building.ZSTD))
    how: dict[str, Any] = {"zstd_dictionaries": [dictionary.as_bytes()]}
    assert offsets(ls.Log(partition).records(columns=["offset"], **how)) == [0]
    assert scan(partition, columns=["value"], **how).collect()["value"].to_list() == [samples[7]]
    assert [place.offset for place in ls.find(partition, start_offset=0, **how)] == [0]
    assert run("cat", partition).code == 2
    done = run("cat", "--zstd-dictionary", file, partition)
    assert (done.code, [json.loads(line)["value"] for line in done.out.splitlines()]) == (0, [samples[7].decode()])
    assert run("verify", "--zstd-dictionary", file, partition).code == 0

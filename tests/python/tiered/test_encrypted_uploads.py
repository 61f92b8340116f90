"""Encrypted uploads: every verb that reads takes them with their keys; without its key only the upload itself is unreadable."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import Done, run
from logsegment._core import SegmentKeyError
from logsegment.cli.app import program
from logsegment.partition.transactions import transactions_of
from logsegment.segment_files.discovery import find_segments
from tiered_leaders import two_leaders, upload

TRANSACTIONS = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"
LZ4 = corpus.CORPUS / "modern-4.1.0/data/codec-lz4-0"
#: What gives an argument of the command line something to read.
READING = {"path", "paths", "prefix", "a", "b"}


def commands(group: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(group, click.Group):
        yield name, group
        return
    context = click.Context(group)
    for verb in group.list_commands(context):
        command = group.get_command(context, verb)
        assert command is not None
        yield from commands(command, f"{name} {verb}".strip())


def test_every_verb_that_reads_a_path_takes_keys():
    reading = {name: item for name, item in commands(program) if READING & {param.name for param in item.params}}
    # The topic of a schema registry is compacted, and Kafka uploads no compacted topic (KIP-405): its log has no keys.
    reading = {name: item for name, item in reading.items() if not name.startswith("schemas ")}
    without = [name for name, item in reading.items() if "--key-file" not in {text for param in item.params for text in param.opts}]
    assert without == []
    assert {"cat", "explain", "lz4 check", "lz4 fix", "lz4 break", "txn", "restore", "plugins train"} <= reading.keys()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("uploads")
    (root / "key1.der").write_bytes(tiered.KEYS["key1"])
    tiered.Uploader(root, "codec-lz4", compresses=True, key_id="key1").partition(LZ4)
    return root


@pytest.mark.parametrize(
    "verb",
    [
        ("explain", "--offset", "100"),
        ("explain", "--offset", "100", "--json"),
        ("lz4", "check"),
        ("txn", "--all"),
        ("batches", "--json"),
        ("stats", "--json"),
        ("find", "--offset", "100", "--json", "--quiet"),
    ],
    ids=lambda verb: "-".join(word for word in verb if word.isalpha() or word[2:].isalpha()),
)
def test_what_a_verb_says_of_an_upload_is_what_it_says_of_the_log(verb: tuple[str, ...], place: Path):
    words = ("lz4", "check") if verb[0] == "lz4" else verb[:1]
    options = verb[len(words) :]
    here = run(*words, LZ4, *options)
    there = run(*words, place / "prefix", *options, "--key-file", f"key1={place / 'key1.der'}")
    assert (there.code, there.err) == (here.code, "") == (0, here.err)
    uploaded = str(next(place.glob("prefix/*/0/*.log")))

    def unplaced(text: str) -> str:
        for name in (uploaded, str(LZ4 / f"{0:020}.log"), str(Path(uploaded).parent), str(LZ4)):
            text = text.replace(name, "LOG").replace(json.dumps(name)[1:-1], "LOG")
        return text

    assert unplaced(there.text) == unplaced(here.text)
    assert there.text
    refused = run(*words, place / "prefix", *options)
    assert (refused.code, refused.text) == (2, "")
    assert "is encrypted under the key 'key1': no keys were given (--key-file ID=FILE)" in refused.err
    assert refused.err.count(uploaded) == 1


@pytest.mark.parametrize("form", ["fix", "break"])
def test_lz4_rewrites_an_upload(form: str, place: Path, tmp_path: Path):
    keys = ("--key-file", f"key1={place / 'key1.der'}")
    source = corpus.CORPUS / "legacy-0.10.2.2/data/codec-lz4-0"
    tiered.Uploader(tmp_path, "legacy", key_id="key1").partition(source)
    log = next(source.glob("*.log"))
    assert run("lz4", form, log, "-o", tmp_path / "here").code == 0
    done = run("lz4", form, tmp_path / "prefix", "-o", tmp_path / "there", *keys)
    assert done.code == 0, done.err
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    """A copy of the objects, to be damaged."""
    return shutil.copytree(tiered.BUCKET, tmp_path / "bucket")


@pytest.fixture
def keys(tmp_path: Path) -> list[str]:
    """The options that bring all keys."""
    options = []
    for name, key in tiered.KEYS.items():
        (tmp_path / name).write_bytes(key)
        options += ["--key-file", f"{name}={tmp_path / name}"]
    return options


def place_in(bucket: Path, mode: str) -> Path:
    return bucket / tiered.folder(mode).relative_to(tiered.BUCKET)


def partitions_told(text: str, bucket: Path) -> set[str]:
    return {mode for mode in tiered.MODES if f"{place_in(bucket, mode)}/" in text or f"{place_in(bucket, mode)}:" in text}


PLAIN = set(tiered.MODES) - set(tiered.ENCRYPTED)


def test_salvage_reports_an_unreadable_upload(bucket: Path, keys: list[str], tmp_path: Path):
    """TS-10: its offsets are lost, and no empty segment says that it was so."""
    there = place_in(bucket, "enc")
    (there / f"{tiered.STEM}.rsm-manifest").write_bytes(b"no JSON")
    done = run("salvage", there, *keys, "-o", tmp_path / "saved")
    assert done.code == 3
    assert "error [TS-10]: offsets 1234 to ? are lost: the manifest is not JSON" in done.err
    assert "wrote 0 segments" in done.err
    assert list((tmp_path / "saved").rglob("*")) == []
    done = run("salvage", there, *keys, "-o", tmp_path / "json", "--json")
    finding, account = done.lines
    assert (done.code, finding["rule"], finding["baseOffset"]) == (3, "TS-10", 1234)
    size = (there / f"{tiered.STEM}.log").stat().st_size
    assert (account["ok"], account["lostBytes"], account["keptBytes"]) == (False, size, 0)
    assert [(finding["position"], finding["length"], finding["rule"]) for finding in account["lost"]] == [(0, size, "TS-10")]
    done = run("salvage", there / f"{tiered.STEM}.log", *keys, "-o", tmp_path / "saved.log")
    assert (done.code, (tmp_path / "saved.log").exists()) == (3, False)
    (segment,) = ls.Log(there, decryption_keys=tiered.KEYS).segments
    found = ls.salvage(ls.FileSource(segment.path))
    assert (found.ok, found.harmful_bytes, found.data) == (False, size, b"")
    done = run("salvage", bucket, *keys, "-o", tmp_path / "all")
    assert (done.code, "wrote 12 segments" in done.err) == (3, True)
    assert len(list((tmp_path / "all").glob("*/*.log"))) == len(list((tmp_path / "all").iterdir())) == 12


def test_salvage_without_keys_says_that_nothing_was_written(tmp_path: Path):
    done = run("salvage", tiered.BUCKET, "--output", tmp_path / "saved")
    assert (done.code, (tmp_path / "saved").exists()) == (2, False)
    *_, error, last = done.err.splitlines()
    assert "is encrypted under the key 'key2': no keys were given (--key-file ID=FILE)" in error
    assert "nothing was written; pass the keys of all segments" in last


def test_salvage_reports_left_out_segments(tmp_path: Path):
    """TS-8: offsets that no upload has are lost; an upload on its way is none of them."""
    uploader = tiered.Uploader(tmp_path, "payments")
    paths = uploader.partition(TRANSACTIONS)
    paths[-1].with_suffix(".rsm-manifest").unlink()
    done = run("salvage", uploader.prefix, "-o", tmp_path / "one")
    assert (done.code, f"left out: {paths[-1]}: unfinished, or being deleted" in done.err) == (0, True)
    paths[2].with_suffix(".rsm-manifest").unlink()
    done = run("salvage", uploader.prefix, "-o", tmp_path / "two")
    assert (done.code, done.err.count("left out: "), " are missing" in done.err) == (3, 2, True)
    done = run("salvage", uploader.prefix, "-o", tmp_path / "three", "--json")
    told = [(line["file"], line["rule"], line["severity"]) for line in done.lines if line["type"] == "finding"]
    assert (done.code, told) == (3, [(str(paths[2]), "TS-8", "warning"), (str(paths[-1]), "TS-8", "info")])


@pytest.mark.parametrize("damage", ["flipped", "cut", "empty"])
def test_txn_goes_on_past_a_damaged_object(damage: str, tmp_path: Path):
    """TS-45: what was open before it is unknown, and the other partitions are told."""
    (tmp_path / "key1").write_bytes(tiered.KEYS["key1"])
    uploader = tiered.Uploader(tmp_path, "payments", chunk_size=20, key_id="key1")
    log = ls.Log(TRANSACTIONS)[2]
    # A marker, at which three transactions are open; a chunk within it is damaged.
    (position,) = (row["position"] for row in ls.batches(ls.FileSource(log.path)).to_pyarrow().to_pylist() if row["lastOffset"] == 51)
    uploader.partition(TRANSACTIONS, 1)
    damaged = uploader.partition(TRANSACTIONS, 0)[2]
    stored = bytearray(damaged.read_bytes())
    sealed = (position + 19) // 20 * 48
    stored[sealed + 20] ^= 0x40
    damaged.write_bytes({"flipped": stored, "cut": stored[:sealed], "empty": b""}[damage])
    done = run("txn", uploader.prefix, "--all", "--json", "--key-file", f"key1={tmp_path / 'key1'}")
    assert (done.code, "Traceback" in done.err) == (1, False)
    assert f"{damaged.name}: error [TS-45]" in done.err
    states = [Counter(line["state"] for line in done.lines if line["partition"] == partition) for partition in (0, 1)]
    sound = Counter(item.state for item in transactions_of(find_segments(TRANSACTIONS)))
    assert states[1] == sound
    unknown = {(line["producerId"], line["firstOffset"]) for line in done.lines if line["state"] == "unknown"}
    assert unknown == {"flipped": {(23, 43), (24, 44), (25, 38)}, "cut": {(23, 43), (24, 44), (25, 38)}, "empty": {(25, 38)}}[damage]
    behind = {(line["producerId"], line["firstOffset"]) for line in done.lines if (line["state"], line["partition"]) == ("committed", 0)}
    assert {(23, 30), (24, 31), (24, 75)} <= behind, "those of the other segments"
    assert ((24, 54) in behind) == (damage == "flipped"), "a marker behind the damage counts"
    done = run("txn", uploader.prefix)
    assert (done.code, done.err.count("--key-file")) == (2, 2)


def test_without_keys_what_needs_none_is_read(bucket: Path):
    """Each partition that cannot be read is told, with the option that it wants, and the code is 2 at the end."""
    done = run("verify", bucket)
    assert (done.code, partitions_told(done.text, bucket)) == (2, PLAIN)
    assert partitions_told(done.err, bucket) == set(tiered.ENCRYPTED)
    assert done.err.count("--key-file") == len(tiered.ENCRYPTED)
    assert f"13 files: {len(PLAIN)} clean, {len(tiered.ENCRYPTED)} unreadable" in done.err
    for verb in (("find", "--offset", "1300"), ("txn",), ("cat", "--on-error", "skip", "--columns", "partition")):
        done = run(*verb[:1], bucket, *verb[1:])
        assert (done.code, done.err.count("--key-file")) == (2, len(tiered.ENCRYPTED)), verb
        assert partitions_told(done.err, bucket) == set(tiered.ENCRYPTED), verb
        if verb[0] == "cat":
            assert {line["partition"] for line in done.lines} == {tiered.MODES.index(mode) + 1 for mode in PLAIN}
        else:
            assert partitions_told(done.text, bucket) == PLAIN, verb


#: Partitions that need no key, in front of the one that does and behind it.
OPEN = ("before", "zero")
SKIPPING = ("cat", "--on-error", "skip", "--columns", "topic")


def around(root: Path) -> Path:
    for topic in OPEN:
        tiered.Uploader(root, topic).partition(TRANSACTIONS.parent / "codec-none-0")
    return tiered.Uploader(root).prefix


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """How large what is read of some uploads is only a key tells: they give way to others inside of a chunk."""
    replicas = two_leaders(tmp_path / "replicas", TRANSACTIONS)
    uploader = tiered.Uploader(tmp_path, chunk_size=700, key_id="key1")
    upload(uploader, replicas[0], "first", 1, most=3)
    upload(uploader, replicas[1], "second", 2, skip=1)
    return around(tmp_path)


@pytest.fixture
def unchosen(tmp_path: Path) -> Path:
    """Of two uploads of the same offsets only the newest checkpoint tells which leader's counts, and that is under a key of its own."""
    first, second = (TRANSACTIONS / f"{base:020d}.log" for base in (0, 20))
    plain = tiered.Uploader(tmp_path)
    plain.segment(first, 19, epochs={"0": 0}, event=1, name="older")
    plain.segment(first, 19, epochs={"1": 0}, event=2, name="newer")
    tiered.Uploader(tmp_path, key_id="key1").segment(second, 42, epochs={"2": 20}, event=3)
    return around(tmp_path)


def closed(done: Done) -> int:
    """The uploads that are told, each with the option that is wanted."""
    assert "Traceback" not in done.err
    return done.err.count("(--key-file ID=FILE)")


def test_what_is_read_of_cut_uploads_is_not_known(cut: Path):
    done = run(SKIPPING[0], cut, *SKIPPING[1:])
    assert (done.code, closed(done), {line["topic"] for line in done.lines}) == (2, 11, {*OPEN})
    done = run("cat", cut, "--columns", "topic")
    assert (done.code, closed(done), {line["topic"] for line in done.lines}) == (2, 1, {"before"}), "without the option it ends there"
    done = run("verify", cut)
    assert (done.code, closed(done)) == (2, 11)
    assert "13 files: 2 clean, 11 unreadable" in done.err
    for verb in (("find", "--offset", "1"), ("txn",)):
        done = run(verb[0], cut, *verb[1:])
        assert (done.code, closed(done)) == (2, 1)
        assert all(f"{topic}-" in done.text for topic in OPEN)
    keys = ("--key-file", f"key1={cut / 'key1.der'}")
    (cut / "key1.der").write_bytes(tiered.KEYS["key1"])
    assert run("verify", cut, *keys).code == 0


def test_which_upload_counts_is_not_known(unchosen: Path):
    done = run(SKIPPING[0], unchosen, *SKIPPING[1:])
    assert (done.code, closed(done), {line["topic"] for line in done.lines}) == (2, 3, {*OPEN})
    assert done.err.count("overlaps with others, and cannot be decrypted to choose one") == 2
    done = run("verify", unchosen)
    assert (done.code, closed(done)) == (2, 3)
    for verb in (("find", "--offset", "1"), ("txn",)):
        done = run(verb[0], unchosen, *verb[1:])
        assert (done.code, closed(done)) == (2, 1)
        assert all(f"{topic}-" in done.text for topic in OPEN)
        assert "cannot be decrypted to choose one" in done.err
    folder = next(unchosen.glob("orders-*")) / "0"
    done = run("cat", folder, "--columns", "offset")
    assert (done.code, done.out, closed(done)) == (2, b"", 1)


def test_of_uploads_of_which_one_would_be_left_out_none_is_read(unchosen: Path, tmp_path: Path):
    """Neither of them is encrypted itself; by its own name each can be read."""
    log = ls.Log(unchosen)
    assert [segment.topic for segment in log] == ["before", "orders", "orders", "orders", "zero"]
    for segment in log.segments[1:3]:
        with pytest.raises(SegmentKeyError, match="encrypted under the key 'key1'"):
            segment.records().read_all()
        assert ls.Segment(str(segment.path)).records(columns=["offset"]).read_all().num_rows > 10
    assert [upload.reason != "" for upload in ls.tiered.uploads(unchosen)] == [False, True, True, False, False]
    with pytest.raises(SegmentKeyError, match="cannot be decrypted to choose one"):
        ls.restore(unchosen, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()

    log = ls.Log(unchosen, decryption_keys=tiered.KEYS)
    assert [segment.topic for segment in log] == ["before", "orders", "orders", "zero"]
    (left_out,) = log.left_out
    assert "superseded" in left_out.message
    assert log.segments[1].records().read_all().num_rows == log.segments[1].records().read_all().num_rows > 10


def test_what_makes_something_of_all_says_the_option_too(cut: Path, tmp_path: Path):
    """No mistake of whoever typed the rest."""
    for verb in (("convert", cut, "-o", tmp_path / "out"), ("diff", cut, cut), ("stats", cut), ("salvage", cut, "-o", tmp_path / "saved")):
        done = run(*verb)
        assert (done.code, closed(done), "Usage" in done.err) == (2, 1, False), verb

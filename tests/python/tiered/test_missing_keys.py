"""Uploads without their keys: only they are unreadable, also where a listing reads more of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import Done, run
from logsegment.tiered.errors import SegmentKeyError
from tiered_leaders import two_leaders, upload

DATA = corpus.CORPUS / "modern-4.1.0/data"
TRANSACTIONS = DATA / "transactions-multi-segment-0"
#: Partitions that need no key, in front of the one that does and behind it.
OPEN = ("before", "zero")
SKIPPING = ("cat", "--on-error", "skip", "--columns", "topic")


def around(root: Path) -> Path:
    for topic in OPEN:
        tiered.Uploader(root, topic).partition(DATA / "codec-none-0")
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
    assert done.err.count("overlaps with others, and which of them is read only a key tells") == 2
    done = run("verify", unchosen)
    assert (done.code, closed(done)) == (2, 3)
    for verb in (("find", "--offset", "1"), ("txn",)):
        done = run(verb[0], unchosen, *verb[1:])
        assert (done.code, closed(done)) == (2, 1)
        assert all(f"{topic}-" in done.text for topic in OPEN)
        assert "only a key tells" in done.err
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
    assert [one.reason != "" for one in ls.tiered.uploads(unchosen)] == [False, True, True, False, False]
    with pytest.raises(SegmentKeyError, match="only a key tells"):
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

"""`--as kafka-dump-log`: the lines that Kafka's tool printed, options that do not go together with it, and damage."""

from __future__ import annotations

from pathlib import Path

import pytest

import corpus
from cli_process import DAMAGED, run

FILES = {
    "transactions": "cluster/broker/payments-0/00000000000000000000.log",
    "snapshot": "corpus/modern-4.1.0/data/__cluster_metadata-0/00000000000000000043-0000000001.checkpoint",
    "messages": "corpus/legacy-0.10.2.2/data/codec-gzip-0/00000000000000000000.log",
}
VERBS = {"batches": "headers", "cat": "records"}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("verb", VERBS)
def test_the_recorded_output(verb: str, name: str) -> None:
    expected = (corpus.TESTS / "dumps" / f"{name}.{VERBS[verb]}.txt").read_bytes()
    done = run(verb, "--as", "kafka-dump-log", corpus.TESTS / FILES[name])
    assert done.out.replace(f"{corpus.TESTS}/".encode(), b"") == expected
    assert (done.code, done.err) == (0, "")


def test_a_batch_with_a_wrong_checksum_is_printed_as_such() -> None:
    done = run("batches", "--as", "kafka-dump-log", DAMAGED)
    assert [line.endswith(b"isvalid: true") for line in done.out.splitlines() if line.startswith(b"baseOffset")] == [True, False, True]
    assert done.code == 0


def test_bytes_that_are_not_entries_end_the_output(tmp_path: Path) -> None:
    log = tmp_path / "orders-0/00000000000000000000.log"
    log.parent.mkdir()
    data = (corpus.TESTS / "cluster/broker/orders-0/00000000000000000000.log").read_bytes()
    log.write_bytes(data + b"\0" * 8 + b"\0\0\0\1" + b"\7" * 80)
    done = run("cat", "--as", "kafka-dump-log", log)
    assert done.code == 1
    assert done.out.count(b"\n| offset: ") == 5
    assert "L8-11" in done.err


@pytest.mark.parametrize(
    "words", [("cat", "--limit", "3"), ("cat", "--json"), ("cat", "--offset", "3.."), ("batches", "--json"), ("batches", "--no-crc")]
)
def test_options_that_do_not_go_together_with_it(words: tuple[str, ...]) -> None:
    verb, *options = words
    done = run(verb, *options, "--as", "kafka-dump-log", DAMAGED)
    assert done.code == 2
    assert f"{options[0]} does not go together with it" in done.err

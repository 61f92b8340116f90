"""Every verb that reads takes uploads that are encrypted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import corpus
import tiered_corpus as tiered
from cli_process import run
from logsegment.cli.app import program

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
    reading = {name: one for name, one in commands(program) if READING & {param.name for param in one.params}}
    without = [name for name, one in reading.items() if "--key-file" not in {text for param in one.params for text in param.opts}]
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
    assert "is encrypted under the key 'key1': no keys were given" in refused.err


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

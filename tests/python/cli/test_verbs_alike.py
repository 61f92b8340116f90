"""Options that every verb of a kind has, and the form of its JSON."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest

import logsegment as ls
from cli_process import CODEC, DAMAGED, MODERN, TRANSACTIONS, run
from cli_verbs import VERBS

#: What the arguments that name logs are called.
OF_LOGS = {"path", "paths", "a", "prefix"}
READING = sorted(
    names
    for names, command in VERBS.items()
    # A log of schemas is one topic, and a cluster is all of its topics.
    if names[0] not in ("schemas", "cluster") and OF_LOGS & {param.name for param in command.params if isinstance(param, click.Argument)}
)


def options_of(names: tuple[str, ...]) -> set[str]:
    return {flag for param in VERBS[names].params for flag in param.opts}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log directory with three partitions, and a backup with two of them; the current directory."""
    for name in ("codec-lz4-0", "multi-segment-0", "multi-segment-1"):
        shutil.copytree(MODERN / name, tmp_path / "logs" / name)
    for name in ("codec-lz4-0", "multi-segment-0"):
        shutil.copytree(MODERN / name, tmp_path / "backup" / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_verbs_that_read_logs_are_known():
    assert {("batches",), ("cat",), ("diff",), ("explain",), ("lz4", "fix"), ("restore",), ("salvage",), ("verify",)} <= {*READING}
    assert len(READING) > 14


@pytest.mark.parametrize("names", READING, ids=" ".join)
def test_every_verb_that_reads_logs_takes_a_topic_and_a_partition(names: tuple[str, ...]):
    assert {"--topic", "--partition"} <= options_of(names)


#: Verbs whose JSON has times; `follow` writes JSON without an option.
@pytest.mark.parametrize("name", ["batches", "cat", "find", "follow", "stats", "txn"])
def test_every_verb_with_times_in_json_writes_iso_8601_on_request(name: str):
    assert "--iso" in options_of((name,))


def test_explain_shows_a_batch_of_the_partition_that_is_named(tree: Path):
    assert run("explain", "logs", "--offset", "100").code == 2
    done = run("explain", "logs", "--topic", "multi-segment", "--partition", "1", "--offset", "100")
    assert (done.code, done.err) == (0, "")
    assert done.text.startswith("logs/multi-segment-1/")


def test_diff_compares_the_partitions_that_are_named(tree: Path):
    assert run("diff", "logs", "backup").code == 1
    done = run("diff", "logs", "backup", "--topic", "codec-lz4", "--json")
    assert (done.code, [line["name"] for line in done.lines]) == (0, ["codec-lz4-0"])
    # A partition that one side lacks is a difference, and no mistake.
    done = run("diff", "logs", "backup", "--topic", "multi-segment", "--partition", "1", "--json")
    assert (done.code, [line["inB"] for line in done.lines if line["type"] == "summary"]) == (1, [False])
    done = run("diff", "logs", "backup", "--topic", "orders")
    assert done.code == 2
    assert "no such topic: orders; there are codec-lz4, multi-segment" in done.err


def test_diff_takes_logs(tree: Path):
    (same,) = ls.diff(ls.Log("logs", topic="multi-segment", partition=0), ls.Log("backup/multi-segment-0"))
    assert (list(same), same.state, same.totals.same_records) == ([], "same", 288)
    assert ls.diff(ls.Log("logs"), "backup", topic="codec-lz4").state == "same"
    with pytest.raises(ValueError, match="no such partition"):
        ls.diff("logs", "backup", topic="multi-segment", partition=7)


def test_lz4_fix_takes_the_partition_that_is_named(tree: Path):
    done = run("lz4", "fix", "logs", "--topic", "codec-lz4", "-o", "fixed.log")
    assert done.code == 0
    assert ls.diff("fixed.log", CODEC / "00000000000000000000.log").state == "same"


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["find", CODEC, "--offset", "3", "--json"], ["timestamp"]),
        (["txn", TRANSACTIONS, "--all", "--json"], ["firstTimestamp"]),
        (["batches", CODEC, "--json"], ["baseTimestamp", "maxTimestamp"]),
        (["stats", CODEC, "--json"], ["firstTime", "lastTime"]),
    ],
    ids=lambda value: value[0],
)
def test_iso_writes_the_same_times(arguments: list[Any], names: list[str]):
    plain, iso = run(*arguments).lines, run(*arguments, "--iso").lines
    pairs = list(zip(values_of(plain, names), values_of(iso, names), strict=True))
    assert len({*pairs}) > 0
    assert [(ms, text) for ms, text in pairs if text != as_iso(ms)] == []
    assert run(*[argument for argument in arguments if argument != "--json"], "--iso").code == 2


def values_of(value: Any, names: list[str]) -> list[Any]:
    """Return the values of these names, at any depth."""
    if isinstance(value, list):
        return [found for item in value for found in values_of(item, names)]
    if not isinstance(value, dict):
        return []
    return [found for name, item in value.items() for found in ([item] if name in names else values_of(item, names))]


def as_iso(millis: int | None) -> str | None:
    if millis is None or millis == -1:
        return None
    seconds, rest = divmod(millis, 1000)
    return datetime.fromtimestamp(seconds, UTC).strftime(f"%Y-%m-%dT%H:%M:%S.{rest:03}Z")


#: Objects whose names are data: codecs, formats, sizes, producers.
KEYED_BY_DATA = {"codecs", "formats", "counts", "producers", "timestampTypes", "damageCounts", "markers"}


def misnamed(value: Any, of: str = "") -> set[str]:
    """Return the names in a JSON value that are not camelCase."""
    if isinstance(value, list):
        return {name for item in value for name in misnamed(item, of)}
    if not isinstance(value, dict):
        return set()
    own = set() if of in KEYED_BY_DATA else {name for name in value if not re.fullmatch(r"[a-z][a-zA-Z0-9]*", name)}
    return own | {name for key, item in value.items() for name in misnamed(item, key)}


@pytest.mark.parametrize(
    "arguments",
    [
        *(["batches", CODEC, "--json"], ["cat", CODEC], ["verify", DAMAGED, "--json"], ["explain", CODEC, "--json"]),
        *(["stats", CODEC, TRANSACTIONS, "--what-if", "zstd,v3", "--json"], ["stats", DAMAGED, "--json"]),
        *(["find", CODEC, "--offset", "3", "--json"], ["diff", CODEC, MODERN / "codec-gzip-0", "--json"]),
        *(["txn", TRANSACTIONS, "--all", "--json"], ["follow", CODEC, "--offset", "0", "--idle-exit", "0"]),
        [
            "cat",
            MODERN / "__consumer_offsets-1",
            "--values",
            "internal",
            "--columns",
            "offset,timestampType,headersRaw,isControl,batchBaseOffset",
        ],
    ],
    ids=lambda arguments: " ".join(map(str, arguments))[:20],
)
def test_names_in_json_are_camel_case(arguments: list[Any]):
    done = run(*arguments)
    assert done.lines, done.err
    assert misnamed(done.lines) == set()


def test_names_in_the_json_of_salvage_are_camel_case(tmp_path: Path):
    done = run("salvage", DAMAGED, "--output", tmp_path / "saved.log", "--json")
    assert done.lines
    assert misnamed(done.lines) == set()


def test_codecs_of_what_if_may_be_in_one_list():
    one, several = (
        json.loads(run("stats", CODEC, "--json", *how).out)
        for how in (["--what-if", "zstd", "--what-if", "lz4"], ["--what-if", "zstd,lz4"])
    )
    assert [(tried["codec"], tried["bytesThen"]) for tried in several["whatIf"]] == [
        (tried["codec"], tried["bytesThen"]) for tried in one["whatIf"]
    ]


def test_a_level_in_the_codec_of_convert_names_the_option():
    done = run("convert", CODEC, "--compression", "zstd:19", "--output", "new")
    assert done.code == 2
    assert "write zstd and --level 19" in done.err

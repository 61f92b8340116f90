"""Uploads on this machine are shown as they were named, as local segments are: no line repeats where the bucket lies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import run
from logsegment._places import absolute, here, redacted_uri, untiered
from logsegment.segment_files.discovery import find_segments
from tiered_leaders import two_leaders, upload

TRANSACTIONS = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a bucket of two leaders in it; one manifest is damaged, and one upload unfinished."""
    first, second = two_leaders(tmp_path / "replicas", TRANSACTIONS)
    uploader = tiered.Uploader(tmp_path / "bucket", chunk_size=700, key_id="key1")
    upload(uploader, first, "first", 1, most=3)
    upload(uploader, second, "second", 2, skip=1)
    manifests = sorted(uploader.prefix.rglob("*.rsm-manifest"))
    manifests[0].write_text("{")
    manifests[-2].unlink()
    (tmp_path / "key1").write_bytes(tiered.KEYS["key1"])
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


KEYS = ("--key-file", "key1=key1")
VERBS: list[tuple[str, ...]] = [
    ("verify",),
    ("verify", "--json"),
    ("batches",),
    ("cat",),
    ("cat", "--on-error", "skip"),
    ("find", "--offset", "20"),
    ("follow", "--offset", "0", "--idle-exit", "0"),
    ("follow", "--offset", "0", "--idle-exit", "0", "--on-error", "skip"),
    ("stats",),
    ("txn",),
    ("salvage", "--output", "saved"),
    ("restore", "restored"),
]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_what_is_said_of_uploads_begins_with_what_was_given(verb: tuple[str, ...], place: Path):
    name, *options = verb
    given = ["bucket", *options] if name == "restore" else [*options, "bucket"]
    done = run(name, *given, *KEYS)
    said = done.text + done.err
    assert str(place) not in said
    assert f"bucket/prefix/orders-{tiered.TOPIC_ID}/0/0" in said


@pytest.mark.parametrize("form", ["bucket", "./bucket", "elsewhere/../bucket", "absolute"])
def test_files_are_named_as_those_of_a_log_directory_are(form: str, place: Path):
    shutil.copytree(TRANSACTIONS, place / "payments-0")
    given = str(place / "bucket") if form == "absolute" else form
    upload_names = {line["file"] for line in run("verify", "--json", given, *KEYS).lines}
    assert {name.startswith(f"{given}/prefix/") for name in upload_names} == {True}
    local = given.replace("bucket", "payments-0")
    assert {line["file"].rpartition("/")[0] for line in run("verify", "--json", local).lines} == {local}


def test_damaged_sidecar_files_are_reported_once_with_their_path(place: Path):
    manifest = min(Path("bucket").rglob("*.rsm-manifest"))
    done = run("cat", "bucket", *KEYS)
    assert done.code == 1
    (line,) = [line for line in done.err.splitlines() if "the manifest is" in line]
    assert line.startswith(f"logsegment: {manifest.with_suffix('.log')}: {manifest.name}: the manifest is not JSON")


def test_uploads_are_listed_as_they_were_named(place: Path):
    for given in ("bucket", str(place / "bucket")):
        found = ls.tiered.uploads(given, decryption_keys={"key1": "key1"})
        assert {file.path.startswith(f"{given}/prefix/") for file in found} == {True}
        (damaged,) = [item for item in found if item.state == "damaged"]
        assert damaged.reason.startswith(f"{Path(damaged.path).stem}.rsm-manifest: the manifest is not JSON")


def test_a_log_stays_where_it_is_when_the_current_directory_is_another(place: Path, monkeypatch: pytest.MonkeyPatch):
    log = ls.Log("bucket", decryption_keys={"key1": tiered.KEYS["key1"]})
    relative = find_segments("bucket")[1].path
    assert (here(relative) or "").startswith("bucket/")
    assert here(absolute(relative)) == str(place / (here(relative) or ""))
    assert redacted_uri(log.paths[0]) == str(place / "bucket")
    monkeypatch.chdir("elsewhere")
    assert all(redacted_uri(file.path).startswith(str(place)) for file in log)
    assert log[1].records(columns=["offset"]).read_all().num_rows > 0


@pytest.mark.parametrize("path", ["bucket", "./a b/c%d?e", "../x", "/data/bucket", "."])
def test_a_path_and_its_uri_lead_to_each_other(path: str):
    uri: Any = tiered.uploaded(path, {"key1": "key1"})
    assert untiered(uri) == path
    assert untiered(uri + "/0.log") == f"{path}/0.log"
    assert redacted_uri(uri) == path
    assert untiered(tiered.uploaded(uri)) == path


@pytest.mark.spark
def test_spark_gives_its_workers_absolute_paths(place: Path):
    from logsegment.spark.options.read import paths_of

    (path,) = paths_of({"path": "bucket", "keys": json.dumps({"key1": str(place / "key1")})})
    assert redacted_uri(path) == str(place / "bucket")

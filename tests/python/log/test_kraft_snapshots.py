"""Snapshots of the metadata log, as a 4.1.0 controller wrote them, and what a power loss makes of them (SEG-24)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import cli_process
import corpus
import logsegment as ls

LOG = corpus.CORPUS / "modern-4.1.0/data/__cluster_metadata-0"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LOG, tmp_path / LOG.name))


def newest(directory: Path) -> Path:
    return max(directory.glob("*.checkpoint"))


def errors(directory: Path) -> list[tuple[str, str]]:
    found = [finding for finding in ls.Log(directory).validate().findings if finding.severity == "error"]
    return [(finding.rule, Path(finding.path.partition("@")[0].removesuffix("/entry")).name) for finding in found]


def test_real_snapshots_are_clean(directory: Path):
    assert len(list(directory.glob("*.checkpoint"))) == 6
    assert [finding for finding in ls.Log(directory).validate().findings if finding.severity != "info"] == []
    assert cli_process.run("verify", "--fail-on", "warning", directory).code == 0


def cut_in_half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def without_footer(data: bytes) -> bytes:
    return data[: ls.batches(data).to_pyarrow()["position"][-1].as_py()]


def without_header(data: bytes) -> bytes:
    return data[ls.batches(data).to_pyarrow()["size"][0].as_py() :]


def zeros_at_end(data: bytes) -> bytes:
    return data + bytes(512)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "cut in half": cut_in_half,
    "one byte less": lambda data: data[:-1],
    "without footer": without_footer,
    "without header": without_header,
    "zeros at the end": zeros_at_end,
    "zeros in the middle": lambda data: data[:150] + bytes(100) + data[250:],
    "a flipped bit": lambda data: data[:200] + bytes([data[200] ^ 4]) + data[201:],
    "garbage": lambda data: b"\x2f\x18\xd0\x94" * 100,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_snapshot_is_an_error(directory: Path, damage: str):
    path = newest(directory)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    found = errors(directory)
    assert found
    assert {name for _, name in found} == {path.name}
    done = cli_process.run("verify", directory)
    assert (done.code, path.name in done.text) == (1, True), done.text


def test_the_find_of_a_trial(tmp_path: Path):
    """A flipped bit in the newest snapshot, with which a controller of 4.3 does not start."""
    source = corpus.TESTS / "finds/kraft-snapshot"
    assert cli_process.run("verify", source).code == 1
    assert cli_process.run("verify", source / "__cluster_metadata-0").code == 1


def test_a_log_that_begins_after_its_newest_snapshot_is_an_error(directory: Path):
    first = min(directory.glob("*.log"))
    rest = ls.split(first, directory.parent / "cut", offsets=[200])
    assert len(rest.sha256) == 2
    first.unlink()
    later = max((directory.parent / "cut").glob("*.log"))
    shutil.copy(later, directory)
    for path in directory.glob("*.index"):
        path.unlink()
    base = int(later.stem)
    assert [rule for rule, _ in errors(directory) if rule == "SEG-24"] == []
    for snapshot in directory.glob("*.checkpoint"):
        if int(snapshot.name[:20]) >= base:
            snapshot.unlink()
    assert errors(directory) == [("SEG-24", later.name)]
    for snapshot in directory.glob("*.checkpoint"):
        snapshot.unlink()
    assert errors(directory) == [("SEG-24", later.name)]
    assert cli_process.run("verify", directory).code == 1

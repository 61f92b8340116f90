"""`python -m logsegment.sample`: the files that the examples of all pages read, after an installation."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import corpus
import logsegment as ls
import tiered_corpus
from doc_examples import ROOT
from logsegment.sample import FILES, SEGMENT

GUIDES = ROOT / "docs/how-to/README.md"
MODERN = corpus.CORPUS / "modern-4.1.0/data"
VALUES = corpus.TESTS / "values"
#: Directories and files of the tests that are in the sample.
SAME = {
    "orders-0": MODERN / "codec-zstd-0",
    "examples/damaged-0": ROOT / "examples/damaged-0",
    "payments-0": MODERN / "transactions-multi-segment-0",
    "kafka-logs/orders-0": MODERN / "codec-zstd-0",
    "kafka-logs/payments-0": MODERN / "transactions-multi-segment-0",
    "lake/orders-0": MODERN / "codec-zstd-0",
    "old-logs/clicks-0": corpus.CORPUS / "legacy-0.8.2.2/data/codec-gzip-0",
    "__consumer_offsets-1": MODERN / "__consumer_offsets-1",
    "__cluster_metadata-0": MODERN / "__cluster_metadata-0",
    "dead-cluster": corpus.TESTS / "cluster/broker",
    "_schemas-0": VALUES / "_schemas-0",
    "alpha-avro-refs-0": VALUES / "alpha-avro-refs-0",
    "alpha-avro-incompatible-0": VALUES / "alpha-avro-incompatible-0",
    "alpha-json-refs-0": VALUES / "alpha-json-refs-0",
    "alpha-proto-nested-0": VALUES / "alpha-proto-nested-0",
    "alpha-mixed-0": VALUES / "alpha-mixed-0",
    "users-0": corpus.TESTS / "finds/messages/t1-0",
    "bucket": tiered_corpus.BUCKET,
    SEGMENT: MODERN / "codec-zstd-0" / SEGMENT,
    f"broken-0/{SEGMENT}": corpus.TESTS / "hostile/data/v2-crc-bitflip.log",
    "user.avsc": corpus.TESTS / "finds/messages/user.avsc",
    "schemas/bare.avsc": VALUES / "schemas/bare.avsc",
}


def sample(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "logsegment.sample", *arguments], capture_output=True, text=True, timeout=60, check=False)


def files(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sample") / "new"
    done = sample(str(place))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[:-1]] == [found.name for found in FILES]
    assert lines[-1] == f"try: cd {place} && logsegment verify examples/damaged-0"
    return place


def test_files_are_those_of_the_tests(written: Path):
    expected = {Path(name, inner).as_posix(): data for name, source in SAME.items() for inner, data in files(source).items()}
    expected["backup/orders-0/" + SEGMENT] = expected[SEGMENT][:30_723]
    expected |= {f"{name}.der": key for name, key in tiered_corpus.KEYS.items()}
    found = files(written)
    assert sorted(found) == sorted(expected)
    assert [name for name in found if found[name] != expected[name]] == []


def test_the_backup_ends_after_a_batch(written: Path):
    backup = ls.Log(written / "backup/orders-0")
    assert backup.validate().ok
    assert backup.segments[-1].next_offset() == 200


def test_the_page_of_guides_lists_every_file(written: Path):
    table = GUIDES.read_text(encoding="utf-8").partition("## Files of the examples")[2]
    listed = set(re.findall(r"`([^`/ ]+)[^` ]*`", "".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))))
    assert sorted(listed) == sorted(path.name for path in written.iterdir())


def test_an_existing_directory_with_files_stays(tmp_path: Path):
    (tmp_path / "mine").write_text("kept")
    done = sample(str(tmp_path))
    assert done.returncode == 2
    assert "must be a new or empty directory" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_empty_directory_is_filled(tmp_path: Path, written: Path):
    assert sample(str(tmp_path)).returncode == 0
    assert files(tmp_path) == files(written)
    shutil.rmtree(tmp_path / "bucket")


def test_a_mistake_shows_the_usage():
    assert [(done.returncode, done.stdout) for done in (sample(), sample("a", "b"), sample("--help"))] == [(2, "")] * 3
    assert "usage: python -m logsegment.sample DIR" in sample().stderr

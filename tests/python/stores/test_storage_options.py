"""Options of a store reach it through every API, and are never shown. The environment has none."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import corpus
import logsegment as ls
import object_store
from cli_process import run
from logsegment._core import ChangedError, Place, StorageOptionError

DATA = corpus.CORPUS / "modern-4.1.0/data"
NAME = "00000000000000000000.log"
URI = "s3://bucket/orders-0"
SECRET = "hush/hush+hush"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bucket")
    shutil.copytree(DATA / "transactions-multi-segment-0", root / "orders-0")
    return root


@pytest.fixture
def options(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    with object_store.serving(here, is_bucket=True) as environment:
        endpoint = environment["AWS_ENDPOINT_URL"]
        yield {"aws_endpoint": endpoint, "aws_access_key_id": "key", "aws_secret_access_key": SECRET, "aws_region": "us-east-1"}


CALLS: dict[str, Callable[..., Any]] = {
    "log": lambda path, **given: ls.Log(path, **given).records(columns=["offset"]).to_pylist(),
    "segment": lambda path, **given: ls.Segment(f"{path}/{NAME}", **given).records(columns=["offset"]).to_pylist(),
    "file": lambda path, **given: ls.decode(ls.FileSource(f"{path}/{NAME}", **given), columns=["offset"]).to_pylist(),
    "polars": lambda path, **given: ls.polars.scan(path, columns=["offset"], **given).select(pl.len()).collect().rows(),
    "find": lambda path, **given: [place.offset for place in ls.find(path, offset=12, **given)],
    "stats": lambda path, **given: ls.stats(path, **given).records,
    "transactions": lambda path, **given: len(list(ls.transactions(path, **given))),
    "diff": lambda path, **given: [item.state for item in ls.diff(path, path, **given)],
}


@pytest.mark.parametrize("call", CALLS)
def test_options_reach_the_store_through_every_function(call: str, here: Path, options: dict[str, str]) -> None:
    found = CALLS[call](URI, storage_options=options)
    assert found
    assert found == CALLS[call](str(here / "orders-0"))
    assert found == CALLS[call](str(here / "orders-0"), storage_options=options)


@pytest.mark.parametrize("verb", [["cat", "--columns", "offset"], ["find", "--offset", "12"], ["batches", "--json"], ["stats", "--json"]])
def test_options_reach_the_store_through_the_command_line(verb: list[str], here: Path, options: dict[str, str]) -> None:
    given = [text for name, value in options.items() for text in ("--storage-option", f"{name}={value}")]
    done, local = run(*verb, *given, URI), run(*verb, here / "orders-0")
    assert (done.code, local.code) == (0, 0), done.err
    assert SECRET not in f"{done.out!r} {done.err}"
    assert len(done.out.splitlines()) == len(local.out.splitlines())


@pytest.mark.parametrize("wrong", ["aws_region", "=x", "no_such_option=x"])
def test_a_wrong_option_ends_the_command_line_with_usage(wrong: str) -> None:
    done = run("cat", "--storage-option", wrong, URI)
    assert done.code == 2, done.err
    assert "bug of logsegment" not in done.err


def test_a_wrong_option_is_an_error_that_names_it(options: dict[str, str]) -> None:
    with pytest.raises(StorageOptionError, match="no_such_option"):
        ls.Log(URI, storage_options={**options, "no_such_option": SECRET})
    with pytest.raises(TypeError, match="must be a mapping"):
        ls.Log(URI, storage_options=[("aws_region", "eu")])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'aws_region' has int"):
        ls.Log(URI, storage_options={"aws_region": 1})  # type: ignore[dict-item]


def test_options_are_never_shown_and_travel_with_a_pickle(options: dict[str, str]) -> None:
    log = ls.Log(URI, storage_options=options)
    source = ls.FileSource(log.segments[0].path)
    for text in (repr(log), str(log.paths[0]), repr(source), str(source.path), f"{log.segments[0].path}"):
        assert "hush" not in text
    again = pickle.loads(pickle.dumps(source))
    assert ls.decode(again, columns=["offset"]).read_all().num_rows > 0


def test_spark_takes_options_of_the_store(options: dict[str, str]) -> None:
    pytest.importorskip("pyspark.sql.datasource")
    from logsegment.spark import LogSegmentSource

    storage = {f"storage.{name}": value for name, value in options.items()}
    source = LogSegmentSource({"path": URI, **storage})
    reader: Any = source.reader(source.schema())
    tasks = pickle.loads(pickle.dumps(reader.partitions()))
    assert sum(batch.num_rows for task in tasks for batch in reader.read(task)) > 0
    assert "hush" not in repr(tasks)


def test_a_replaced_object_is_an_error(here: Path, options: dict[str, str]) -> None:
    (here / "x.log").write_bytes(b"x" * 1000)
    file = Place("s3://bucket/x.log", options).open()
    (here / "x.log").write_bytes(b"y" * 1000)
    with pytest.raises(ChangedError, match="replaced"):
        file.read_at(0, 10)

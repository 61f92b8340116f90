"""Every function that takes the path of Kafka's bytes takes options of its store. The environment has none."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_type_hints

import pytest

import corpus
import logsegment as ls
import object_store
import tiered_layouts
from cli_process import run

DATA = corpus.CORPUS / "modern-4.1.0/data"
SCHEMAS = corpus.CORPUS.parent / "values/_schemas-0"
LOG = "orders-0/00000000000000000000.log"
LZ4 = "codec-lz4-0/00000000000000000000.log"
SECRET = "hush/hush+hush"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("bucket")
    shutil.copytree(DATA / "transactions-multi-segment-0", root / "orders-0")
    shutil.copytree(DATA / "codec-lz4-0", root / "codec-lz4-0")
    shutil.copytree(SCHEMAS, root / "_schemas-0")
    tiered_layouts.of_kafka(root / "uploads")
    return str(root)


@pytest.fixture(scope="module")
def server(local: str) -> Iterator[str]:
    with object_store.serving(Path(local), is_bucket=True) as environment:
        yield environment["AWS_ENDPOINT_URL"]


@pytest.fixture
def options(server: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    return {"aws_endpoint": server, "aws_access_key_id": "key", "aws_secret_access_key": SECRET, "aws_region": "us-east-1"}


def digests(write: Callable[[Path], ls.Arrangement]) -> list[str]:
    """Return the names and digests of the files that a function writes."""
    with TemporaryDirectory() as directory:
        return sorted(f"{Path(path).name} {digest}" for path, digest in write(Path(directory) / "out").sha256.items())


CALLS: dict[str, Callable[..., Any]] = {
    "decode": lambda root, **given: ls.decode(f"{root}/{LOG}", columns=["offset"], **given).to_pylist(),
    "decode typed": lambda root, **given: ls.decode(f"{root}/{LOG}", columns=["valueRecord"], values="auto", **given).to_pylist(),
    "batches": lambda root, **given: ls.batches(f"{root}/{LOG}", **given).to_pylist(),
    "batch_stream": lambda root, **given: [len(rows) for rows in ls.batch_stream(f"{root}/{LOG}", **given)],
    "validate": lambda root, **given: ls.validate(f"{root}/{LOG}", **given).io_stats["records"],
    "convert": lambda root, **given: ls.convert(f"{root}/{LOG}", compression="gzip", **given).data,
    "salvage": lambda root, **given: ls.salvage(f"{root}/{LOG}", **given).data,
    "inspect": lambda root, **given: ls.inspect(f"{root}/{LOG}", offset=8, **given).to_dict(),
    "rewrite": lambda root, **given: ls.rewrite(f"{root}/{LOG}", drop=["user-36"], **given).data,
    "rewrite a directory": lambda root, **given: ls.rewrite(f"{root}/orders-0", drop=["user-36"], dry_run=True, **given).dropped,
    "compact": lambda root, **given: ls.compact(f"{root}/orders-0", dry_run=True, **given).dropped,
    "split": lambda root, **given: digests(lambda out: ls.split(f"{root}/orders-0", out, bytes=1000, **given)),
    "join": lambda root, **given: digests(lambda out: ls.join(f"{root}/orders-0", out, **given)),
    "join a file": lambda root, **given: digests(lambda out: ls.join([f"{root}/{LOG}"], out, **given)),
    "scan_transactions": lambda root, **given: repr(ls.scan_transactions([f"{root}/{LOG}"], **given)),
    "train_dictionary": lambda root, **given: ls.train_dictionary([f"{root}/{LOG}"], **given).dictionary,
    "check_lz4": lambda root, **given: ls.check_lz4(f"{root}/{LZ4}", **given),
    "fix_lz4": lambda root, **given: ls.fix_lz4(f"{root}/{LZ4}", **given),
    "break_lz4": lambda root, **given: ls.break_lz4(f"{root}/{LZ4}", **given),
    "schemas.from_path": lambda root, **given: list(ls.schemas.from_path(f"{root}/_schemas-0", **given).subjects),
    "schemas.from_log": lambda root, **given: list(ls.schemas.from_log(f"{root}/_schemas-0", **given).subjects),
    "tiered.uploads": lambda root, **given: [upload.base_offset for upload in ls.tiered.uploads(f"{root}/uploads", **given)],
}


@pytest.mark.parametrize("call", CALLS)
def test_options_reach_the_store(call: str, local: str, options: dict[str, str]) -> None:
    stored = CALLS[call]("s3://bucket", storage_options=options)
    assert stored
    assert stored == CALLS[call](local)
    assert stored == CALLS[call](local, storage_options=options)


@pytest.mark.parametrize("call", [name for name in CALLS if name != "compact"])
def test_the_error_of_a_missing_file_shows_no_option(call: str, options: dict[str, str]) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        CALLS[call]("s3://bucket/missing", storage_options=options)
    assert "s3://bucket/missing" in str(raised.value)
    assert "hush" not in f"{raised.value} {raised.value!r} {raised.value.filename}"


@pytest.mark.parametrize("call", CALLS)
def test_options_must_be_text(call: str, local: str) -> None:
    with pytest.raises(TypeError, match="'aws_region' has int"):
        CALLS[call](local, storage_options={"aws_region": 1})


@pytest.mark.parametrize(
    "verb", ["schemas list --json {}", "schemas show {} 33", "cat {}/../orders-0 --columns offset,valueRecord --values auto --schemas {}"]
)
def test_options_reach_the_log_of_a_registry(verb: str, local: str, options: dict[str, str]) -> None:
    given = [text for name, value in options.items() for text in ("--storage-option", f"{name}={value}")]
    paths = [f"{root}/_schemas-0" for root in ("s3://bucket", local)]
    stored, here = (run(*(word.format(path).replace("_schemas-0/../", "") for word in verb.split()), *given) for path in paths)
    assert (stored.code, here.code) == (0, 0), stored.err
    assert stored.out == here.out != b""
    assert SECRET not in f"{stored.out!r} {stored.err}"


def test_schemas_are_exported_from_a_store(options: dict[str, str], tmp_path: Path) -> None:
    given = [text for name, value in options.items() for text in ("--storage-option", f"{name}={value}")]
    done = run("schemas", "export", "s3://bucket/_schemas-0", "-o", tmp_path / "schemas", *given)
    assert (done.code, SECRET in done.err) == (0, False), done.err
    assert ls.schemas.from_directory(tmp_path / "schemas") == ls.schemas.from_log(SCHEMAS)


def test_the_messages_of_schemas_show_no_option(options: dict[str, str]) -> None:
    given = [text for name, value in options.items() for text in ("--storage-option", f"{name}={value}")]
    missing = run("schemas", "show", "s3://bucket/_schemas-0", "no-such-subject", *given)
    assert (missing.code, "s3://bucket/_schemas-0 has no schema" in missing.err) == (1, True), missing.err
    unknown = run("schemas", "list", "s3://bucket/_schemas-0", *given, "--storage-option", f"no_such_option={SECRET}")
    assert (unknown.code, "no_such_option" in unknown.err) == (2, True), unknown.err
    bare = run("schemas", "list", f"s3://key:{SECRET}@bucket/_schemas-0")
    assert (bare.code, "use storage_options" in bare.err) == (2, True), bare.err
    assert "hush" not in f"{missing.err} {unknown.err} {bare.err}"


def test_every_function_with_a_source_has_the_argument() -> None:
    takes_bytes = {"lz4_header_checksum"}
    functions = [getattr(ls, name) for name in ls.__all__ if inspect.isfunction(getattr(ls, name)) and name not in takes_bytes]
    sources = {"source", "sources", "path"}
    with_source = {function.__name__ for function in functions if sources & inspect.signature(function).parameters.keys()}
    assert with_source >= {"decode", "batches", "validate", "convert", "salvage", "inspect", "rewrite", "compact", "split", "join"}
    assert [name for name in sorted(with_source) if "storage_options" not in arguments_of(getattr(ls, name))] == []


def arguments_of(function: Any) -> set[str]:
    """The names of the arguments of a function, with those of `**options: Unpack[...]`."""
    parameters = inspect.signature(function).parameters
    several = [str(parameter.annotation) for parameter in parameters.values() if parameter.kind is inspect.Parameter.VAR_KEYWORD]
    keywords = [function.__globals__[text.removeprefix("Unpack[").removesuffix("]")] for text in several]
    return {*parameters, *(name for names in keywords for name in get_type_hints(names))}


def test_options_of_a_call_are_those_of_its_file_too(local: str, options: dict[str, str]) -> None:
    second = ls.batches(f"{local}/{LOG}").to_pylist()[1]["position"]
    expected = ls.decode(ls.FileSource(f"{local}/{LOG}", second), columns=["offset"]).to_pylist()
    for own in (None, {"aws_endpoint": "http://127.0.0.1:1", "aws_secret_access_key": "other"}):
        file = ls.FileSource(f"s3://bucket/{LOG}", second, storage_options=own)
        assert ls.decode(file, columns=["offset"], storage_options=options).to_pylist() == expected


def test_bytes_and_file_objects_ignore_options(local: str, options: dict[str, str]) -> None:
    path = Path(local, LOG)
    expected = ls.decode(path, columns=["offset"]).to_pylist()
    with path.open("rb") as file:
        for source in (path.read_bytes(), memoryview(path.read_bytes()), file):
            assert ls.decode(source, columns=["offset"], storage_options=options).to_pylist() == expected
    with pytest.raises(TypeError, match="must be a mapping"):
        ls.decode(path.read_bytes(), storage_options="aws_region=eu")  # type: ignore[arg-type]

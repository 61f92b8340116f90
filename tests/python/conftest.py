"""What several test files need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import corpus
import object_store
from cli_process import Done
from logsegment._core import Place
from tiered_leaders import two_leaders
from watching import Watch, Watched


@pytest.fixture(scope="session")
def segment() -> Callable[[str], bytes]:
    """Bytes of a file of the corpus, by its name in the manifest."""
    return lambda name: (corpus.CORPUS / name).read_bytes()


@pytest.fixture(scope="session")
def codec_segments() -> dict[str, Path]:
    """One modern segment for each codec, with the same kinds of records in each."""
    return {
        codec: corpus.CORPUS / f"modern-4.1.0/data/codec-{codec}-0/00000000000000000000.log"
        for codec in ("none", "gzip", "snappy", "lz4", "zstd")
    }


@pytest.fixture(autouse=True)
def _nothing_is_known():
    """No chunk of an upload that another test read."""
    Place.forget_chunks()


@pytest.fixture
def as_bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Let a directory stand for every bucket of S3."""
    with ExitStack() as servers:

        def serve(directory: Path) -> None:
            for name, value in servers.enter_context(object_store.serving(directory, is_bucket=True)).items():
                monkeypatch.setenv(name, value)

        yield serve


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A leader's log with transactions, and that of the leader after it."""
    return two_leaders(tmp_path_factory.mktemp("replicas"), corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0")


@pytest.fixture
def watch(capfdbinary: Any) -> Watch:
    """Gives the verb `follow` of a path, from an offset on."""
    return lambda path, start=0, on_error="raise": Watched(path, start, on_error, capfdbinary)


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """The command line in this process, which starts in no time; `cli_process.run` starts a process."""
    from logsegment.cli import app

    monkeypatch.setattr(app, "stop_on_signals", lambda: None)

    def run(*arguments: str | Path) -> Done:
        code = app.run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(code, out.encode(), err)

    return run

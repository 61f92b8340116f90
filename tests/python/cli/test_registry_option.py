"""Batches of plugins on the command line: --registry of the verbs that read."""

from __future__ import annotations

from pathlib import Path

import pytest

import logsegment as ls
from cli_process import CODEC_FILE, run
from logsegment.plugins import FileRegistry, Plugin

NAME = "00000000000000000000.log"


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A registry and a segment that is packed by its plugin."""
    directory = tmp_path_factory.mktemp("plugins")
    registry = FileRegistry(directory / "plugins.json")
    classes = {"java": "org.example.Bzip2", "python": "logsegment.plugins.ready:Bzip2"}
    registry.register([Plugin("bz", classes, "v1.0"), Plugin("gone", {"java": "org.example.Gone", "python": "no.such:Gone"}, "v2.0")])
    done = run(
        "convert", CODEC_FILE, "-o", directory / NAME, "--compression", "bz", "--level", "9", "--registry", directory / "plugins.json"
    )
    assert (done.code, done.out) == (0, b"")
    return directory / "plugins.json", directory / NAME


def test_what_is_converted_with_a_plugin_is_read_with_it(packed: tuple[Path, Path]):
    registry, path = packed
    assert {row["compression"] for row in run("batches", "--json", "--registry", registry, path).lines} - {"none"} == {"bz"}
    assert {row["compression"] for row in run("batches", "--json", path).lines} - {"none"} == {"plugin:0"}
    columns = ("--columns", "offset,timestamp,key,value,headers")
    assert run("cat", *columns, "--registry", registry, path).out == run("cat", *columns, CODEC_FILE).out
    done = run("verify", "--registry", registry, path)
    assert (done.code, done.err) == (0, "")
    assert run("cat", path).code == run("verify", path).code == 2
    plain = run("convert", path, "-o", "-", "--compression", "none", "--registry", registry)
    assert plain.out == ls.convert(ls.FileSource(CODEC_FILE), compression="none").data


def test_a_name_that_is_no_codec_is_a_mistake(packed: tuple[Path, Path], tmp_path: Path):
    registry, _ = packed
    target = ("-o", tmp_path / "out.log")
    done = run("convert", CODEC_FILE, *target, "--compression", "bz")
    assert (done.code, "plugins need --registry" in done.err) == (2, True)
    done = run("convert", CODEC_FILE, *target, "--compression", "other", "--registry", registry)
    assert (done.code, "or a plugin of the registry" in done.err) == (2, True)
    assert run("cat", CODEC_FILE, "--registry", tmp_path / "absent.json").code == 2
    assert not (tmp_path / "out.log").exists()


def test_a_plugin_that_is_not_installed_is_named(packed: tuple[Path, Path], tmp_path: Path):
    done = run("convert", CODEC_FILE, "-o", tmp_path / "out.log", "--compression", "gone", "--registry", packed[0])
    assert done.code == 1
    assert all(part in done.err for part in ("plugin registered but not available", "no.such:Gone", "v2.0"))


def test_a_damaged_registry_is_an_error(packed: tuple[Path, Path], tmp_path: Path):
    broken = tmp_path / "plugins.json"
    broken.write_text("{")
    done = run("cat", packed[1], "--registry", broken)
    assert (done.code, "not JSON" in done.err) == (2, True)

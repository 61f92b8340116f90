"""Runs of the command line in forked processes are those of a Python that starts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import forking_server
from cli_process import CODEC, COMMAND, DAMAGED, clean_environment, run, run_on_terminal, terminal


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["cat", CODEC, "-n", "3"],
        ["cat", DAMAGED],
        ["verify", DAMAGED],
        ["cat", "-"],
        ["batches", "nowhere"],
        ["cat", "--no-such"],
    ],
    ids=lambda arguments: " ".join(Path(word).name for word in arguments),
)
def test_a_forked_run_is_that_of_a_python_that_starts(arguments: list[str | Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    stdin, environment = DAMAGED.read_bytes(), clean_environment(COLUMNS="70")
    assert forking_server.takes(environment)
    forked = run(*arguments, stdin=stdin, COLUMNS="70")
    started = subprocess.run([*COMMAND, *map(str, arguments)], input=stdin, capture_output=True, env=environment, timeout=60, check=False)
    assert (forked.code, forked.out, forked.err) == (started.returncode, started.stdout, started.stderr.decode())


@pytest.mark.parametrize("verb", ["verify", "batches", "stats"])
def test_a_forked_run_on_a_terminal_is_that_of_a_python_that_starts(verb: str):
    """In colours, and as wide as the terminal."""
    forked = run_on_terminal(verb, DAMAGED, out=True, err=True)
    shown: list[bytes] = []
    environment = clean_environment(TERM="xterm-256color", COLUMNS="120")
    with terminal(shown) as place:
        command = [*COMMAND, verb, str(DAMAGED)]
        started = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=place, stderr=place, env=environment, timeout=60, check=False)
    assert (forked.code, forked.out) == (started.returncode, shown[0])
    assert b"\x1b[" in forked.out


def test_a_run_that_takes_too_long_is_ended_with_its_server():
    server = forking_server.Server()
    with pytest.raises(subprocess.TimeoutExpired):
        server.run(["follow", str(CODEC)], b"", clean_environment(), timeout=1)
    assert server._process.wait(60) < 0


def test_another_environment_of_python_gets_a_python_of_its_own():
    assert not forking_server.takes(clean_environment(PYTHONPATH="elsewhere"))
    assert run("--version", PYTHONHASHSEED="7").code == 0

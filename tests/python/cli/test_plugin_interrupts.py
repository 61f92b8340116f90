"""A plugin of Python that never ends: there is no time limit, and Ctrl-C at a terminal ends it at once."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

import building
import corpus
import plugin_codecs
from cli_process import COMMAND, clean_environment
from logsegment.plugins import FileRegistry, Plugin

PROGRAM = """
import sys
import logsegment as ls
from logsegment.plugins import FileRegistry
try:
    ls.decode(open(sys.argv[1], "rb").read(), codecs=FileRegistry(sys.argv[2], allow=["plugin_codecs"]), on_error="skip").read_all()
except KeyboardInterrupt:
    good = ls.decode(open(sys.argv[1], "rb").read(), end_offset=1, columns=["value"])
    print("stopped", good.read_all().num_rows)
"""


#: Far more than it takes.
SECONDS = 120


@pytest.fixture
def hanging(tmp_path: Path) -> tuple[Path, Path]:
    """A segment whose second batch is that of a plugin that hangs, and its registry."""
    registry = FileRegistry(tmp_path / "plugins.json", allow=["plugin_codecs"])
    registry.register([Plugin("endless", {"java": "a.B", "python": f"plugin_codecs:{plugin_codecs.Endless.__name__}"}, "v1")])
    path = tmp_path / "00000000000000000000.log"
    batches = [building.batch(building.record(value=b"a"), count=1, base_offset=n, attributes=bits) for n, bits in enumerate((0, 5))]
    path.write_bytes(b"".join(batches))
    return path, tmp_path / "plugins.json"


def interrupted(command: list[str]) -> tuple[int, bytes, bytes, float]:
    """Run at a terminal of its own, type Ctrl-C when the plugin has begun; exit code, output, errors, and seconds until the end."""
    ours, theirs = pty.openpty()
    packages = os.pathsep.join([str(corpus.TESTS / "support"), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(PYTHONPATH=packages),
        start_new_session=True,
        preexec_fn=_at_a_terminal,
    )
    os.close(theirs)
    try:
        await_begun(process)
        os.write(ours, b"\x03")
        began = time.monotonic()
        out, told = process.communicate(timeout=SECONDS)
        return process.returncode, out, told, time.monotonic() - began
    finally:
        process.kill()
        os.close(ours)


def await_begun(process: subprocess.Popen[bytes]) -> None:
    """Wait until the plugin says that it has begun."""
    assert process.stdout is not None
    seen, deadline = b"", time.monotonic() + SECONDS
    while b"begun\n" not in seen:
        assert time.monotonic() < deadline, f"the plugin was not called within {SECONDS} s: {seen!r}"
        if select.select([process.stdout], [], [], 1)[0]:
            piece = os.read(process.stdout.fileno(), 1 << 16)
            assert piece, process.communicate()[1]
            seen += piece


def _at_a_terminal() -> None:
    """As a shell starts a program; the tests themselves may run in the background, where an interrupt is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.parametrize("verb", ["cat", "verify", "convert", "stats", "explain"])
def test_ctrl_c_ends_a_verb_whose_plugin_hangs(verb: str, hanging: tuple[Path, Path], tmp_path: Path):
    path, registry = hanging
    more = {"convert": ["-o", str(tmp_path / "out.log"), "--compression", "gzip"], "explain": ["--offset", "1"]}
    code, _, told, seconds = interrupted(
        [*COMMAND, verb, str(path), "--registry", str(registry), "--allow-plugin", "plugin_codecs", *more.get(verb, [])]
    )
    assert (code, told) == (130, b"")
    assert seconds < 60, "it is the interrupt that ended it, not a limit"
    assert not (tmp_path / "out.log").exists()


def test_ctrl_c_is_an_interrupt_and_no_damage_in_a_program(hanging: tuple[Path, Path]):
    code, out, told, _ = interrupted([sys.executable, "-c", PROGRAM, *map(str, hanging)])
    assert (code, out, told) == (0, b"stopped 1\n", b"")

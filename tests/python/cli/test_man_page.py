"""The manual page: it is the help of every verb, in macros that each viewer knows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click

from cli_process import clean_environment
from cli_verbs import VERBS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "packaging/data/share/man/man1/logsegment.1"
#: The macros of the page, and whether text is on the same line.
MACROS = {".TH": True, ".SH": True, ".SS": True, ".B": True, ".I": True, ".TP": False, ".PP": False, ".nf": False, ".fi": False}


def test_the_manual_page_is_the_help():
    done = subprocess.run(
        [sys.executable, ROOT / "tools/man_page.py", "check"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_manual_page_has_every_verb_and_option_in_macros_that_it_knows():
    lines = PAGE.read_text(encoding="ascii").splitlines()
    headings = [line.removeprefix(".SS ").replace("\\-", "-") for line in lines if line.startswith(".SS ")]
    assert headings == [" ".join(("logsegment", *names)) for names in VERBS]
    starts = [at for at, line in enumerate(lines) if line.startswith(".SS ")]
    for (names, command), start, end in zip(VERBS.items(), starts, [*starts[1:], len(lines)], strict=True):
        shown = {line for before, line in zip(lines[start:end], lines[start + 1 : end], strict=False) if before == ".TP"}
        for option in command.params:
            if isinstance(option, click.Option):
                name = max(option.opts, key=len).replace("-", "\\-")
                assert any(re.search(rf"(^\.B |, ){re.escape(name)}( |$)", line) for line in shown), (names, name)
    for at, line in enumerate(lines):
        macro, _, text = line.partition(" ")
        if line.startswith("."):
            assert MACROS[macro] == bool(text), line
        assert not re.search(r"(?<!\\)-", line), line
        assert line.strip(), at
        if macro == ".TP":
            assert lines[at + 1].startswith(".B ")
            assert not lines[at + 2].startswith(".")
    fills = [line for line in lines if line in (".nf", ".fi")]
    assert fills == [".nf", ".fi"] * (len(fills) // 2)

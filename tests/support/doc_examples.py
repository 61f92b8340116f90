"""Examples of the pages: the files that they find, the code blocks of a page, and running them.

It needs logsegment and the standard library alone, since tools/wheel_check.py runs it where nothing but a wheel is installed.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from logsegment import sample

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Commands that set things up, which an example shows and a test does not do.
SET_UP = re.compile(r"(pip|python -m pip|make|spark-submit|git|cd)\b")


def doc_pages(*directories: str) -> list[Path]:
    """Return README.md and the pages below these directories of docs."""
    return [ROOT / "README.md", *(page for name in directories for page in sorted((ROOT / "docs" / name).rglob("*.md")))]


def furnish(place: Path) -> None:
    """Write the files that all pages may use into an empty directory."""
    sample.write(str(place))


def blocks(text: str, language: str) -> list[str]:
    """Return the code of the blocks of a language in Markdown text."""
    return [code for found, code in FENCE.findall(text) if found == language]


def run_examples(text: str, name: str, names: dict[str, Any]) -> int:
    """Compare the output of each statement after a prompt with the output in the text. Return the number of statements."""
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    failed = runner.run(test, out=report.append, clear_globs=False).failed
    names.update(test.globs)
    assert not failed, "".join(report)
    return len(test.examples)


def console_examples(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command after a prompt, with its output in the text."""
    for block in blocks(text, "console"):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = example.partition("\n")
            while command.endswith("\\"):
                more, _, output = output.partition("\n")
                command = f"{command[:-1]}{more.removeprefix('> ').lstrip()}"
            if not SET_UP.match(command):
                yield command, output


def run_command(command: str) -> str:
    """Return the output of a command that must succeed; where a page shows a failure, the command ends with `|| echo`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "120", "NO_COLOR": "1"}
    # A reader such as head may stop early, which is no failure; everything else is.
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout


def check_console_examples(text: str) -> int:
    """Run each command and compare its output with the output in the text. Return the number of commands."""
    checker = doctest.OutputChecker()
    examples = list(console_examples(text))
    for command, expected in examples:
        found = run_command(command)
        assert not expected or checker.check_output(expected, found, FLAGS), f"$ {command}\n{found}"
    return len(examples)

"""The command line names public functions; import-linter holds it for modules, and this test for the names of the core."""

from __future__ import annotations

import ast
from pathlib import Path

import logsegment as ls
from logsegment import _core

CLI = Path(ls.__file__).parent / "cli"
#: Functions of the core that only write text.
PRINTING = {"csv_of_lines"}


def names_of(module: str) -> dict[str, set[str]]:
    """Return the names that each file of the command line imports from a module."""
    found: dict[str, set[str]] = {}
    for path in CLI.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == module:
                found.setdefault(path.name, set()).update(alias.name for alias in node.names)
    return found


def test_of_the_core_the_command_line_names_errors_alone():
    found = set().union(*names_of("logsegment._core").values()) - PRINTING
    assert found
    assert [name for name in found if not issubclass(getattr(_core, name), Exception)] == []


def test_every_verb_names_public_functions():
    found = names_of("logsegment")
    assert {"find.py", "stats.py", "cat.py", "follow.py", "explain.py", "batches.py", "txn.py", "diff.py", "lz4.py"} <= found.keys()
    assert set().union(*found.values()) <= {*ls.__all__, "polars", "schemas"}

"""The stub of the core: its docstrings are those of the module. `make lint` compares signatures with stubtest."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import logsegment as ls
from logsegment import _core

STUB = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))


def documented() -> Iterator[tuple[str, str | None, str | None]]:
    """Name, docstring in the stub and docstring of the module, of each public class and function of the core and of their methods."""
    for node in STUB.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and getattr(ls, node.name, None) is getattr(_core, node.name, ...):
            own = getattr(_core, node.name)
            yield node.name, ast.get_docstring(node), inspect.getdoc(own)
            for method in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                    found = inspect.getattr_static(own, method.name)
                    yield f"{node.name}.{method.name}", ast.get_docstring(method), inspect.cleandoc(found.__doc__ or "") or None


CASES = list(documented())


@pytest.mark.parametrize(("name", "stub", "module"), CASES, ids=[name for name, *_ in CASES])
def test_the_stub_has_the_docstrings_of_the_module(name: str, stub: str | None, module: str | None):
    assert stub == module, name


def test_every_class_of_the_core_is_documented():
    assert len(CASES) > 50
    assert [name for name, stub, _ in CASES if "." not in name and not stub] == []

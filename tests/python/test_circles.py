"""No circles: source files name only files that do not name them, straight or through others.

`tests/rust/layering.rs` and import-linter check the folders of `src` and the modules of the package. These tests check the files inside
the folders of `src`, and the benchmarks.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Comments, and texts with what they quote.
NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|r(#+)\".*?\"\1|\"(?:\\.|[^\"\\])*\"|'(?:\\.[^']*|[^'\\])'", re.DOTALL)
USE = re.compile(r"\b(pub(?:\([a-z: ]+\))?\s+)?use\s+([^;()=]+);")
PATH = re.compile(r"\b[a-zA-Z_]\w*(?:::[a-zA-Z_]\w*)+")
ITEM = r"\b(?:fn|struct|enum|trait|type|const|static|union|macro_rules!)\s+{}\b"

Module = tuple[str, ...]


@dataclass
class Code:
    """A Rust file without comments, texts and tests, and the paths that it names."""

    text: str
    exports: dict[str, Module] = field(default_factory=dict)
    paths: set[Module] = field(default_factory=set)

    def __post_init__(self) -> None:
        rest = re.sub(r"pub\(in [a-z:]+\)", "", USE.sub("", self.text))
        words = set(re.findall(r"\w+", rest))
        self.paths |= {tuple(path.split("::")) for path in PATH.findall(rest)}
        for public, tree in USE.findall(self.text):
            for path, name in branches(tree):
                if public:
                    self.exports[name] = path
                if not public or name in words:
                    self.paths.add(path)


def test_files_of_the_core_do_not_name_each_other_in_circles() -> None:
    modules = {path: code for path, code in rust_modules(ROOT / "src") if path[-1:] not in (("tests",), ("testing",))}
    arrows = {path: named_modules(path, code, modules) for path, code in modules.items()}
    assert sum(map(len, arrows.values())) > 1000
    assert_no_circle({"::".join(path): {"::".join(named) for named in others} for path, others in arrows.items()})


def test_benchmarks_do_not_import_each_other_in_circles() -> None:
    benches = ROOT / "benches"
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in benches.rglob("*.py")}
    arrows = {name: imports(path) & files.keys() for name, path in files.items()}
    assert sum(map(len, arrows.values())) > 50
    assert_no_circle(arrows)


def assert_no_circle(arrows: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        pytest.fail("files name each other in a circle: " + " <- ".join(error.args[1]))


def rust_modules(root: Path) -> Iterator[tuple[Module, Code]]:
    """Yield each file as the module that it is, with its code; the root of the crate names everything and is left out."""
    for path in root.rglob("*.rs"):
        parts = path.relative_to(root).with_suffix("").parts
        module = parts[:-1] if parts[-1] in ("mod", "lib") else parts
        if module:
            yield module, Code(without_tests(NOT_CODE.sub(" ", path.read_text(encoding="utf-8"))))


def without_tests(text: str) -> str:
    """Return the code without the items that only tests compile."""
    while (start := text.find("#[cfg(test)]")) >= 0:
        depth, end = 0, start
        while end < len(text) and not (text[end] in "};" and depth == (text[end] == "}")):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[:start] + text[end + 1 :]
    return text


def branches(tree: str, prefix: Module = ()) -> Iterator[tuple[Module, str]]:
    """Yield each path of a `use` declaration, with the name that it brings in."""
    head, brace, inside = tree.strip().partition("{")
    words, _, alias = head.partition(" as ")
    path = (*prefix, *(word.strip() for word in words.split("::") if word.strip() not in ("", "*")))
    if not brace:
        yield path, alias.strip() or path[-1]
        return
    depth, start = 0, 0
    inside = inside.rstrip().removesuffix("}") + ","
    for at, character in enumerate(inside):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            if inside[start:at].strip():
                yield from branches(inside[start:at], path)
            start = at + 1


def named_modules(module: Module, code: Code, modules: dict[Module, Code]) -> set[Module]:
    found = {resolve(module, path, modules) for path in code.paths}
    return {named for named in found if named and named != module}


def resolve(start: Module, path: Module, modules: dict[Module, Code]) -> Module | None:
    """Return the module that defines what a path names, None for other crates."""
    at = start
    for index, name in enumerate(path):
        if name == "crate":
            at = ()
        elif name == "super":
            at = at[:-1]
        elif name == "self":
            continue
        elif (*at, name) in modules:
            at = (*at, name)
        elif index == 0 or at not in modules:
            return None
        else:
            exported = modules[at].exports.get(name)
            return resolve(at, exported, modules) if exported else at
    return at


def imports(path: Path) -> set[str]:
    """Return the modules that a Python file imports, each as a whole name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names

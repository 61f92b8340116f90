"""Check the sizes and names of the source: `make lint` calls it.

- No source file has more than 500 lines; tests may.
- No two classes of the Python package have the same name, and no two types of the crate.
- No loop of Python or Rust calls its variable `one`.
- No module of the Python package imports the root of it, except for the command line, which calls the public functions.
- CONTRIBUTING.md draws every room of the house.
- No internal function of the Python package takes more than five arguments. Public functions (docs/reference/versioning.md) are apart:
  those in the `__all__` of a public module, and the public methods of its classes.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "python" / "logsegment"
SOURCES = ("python/**/*.py", "src/**/*.rs", "tools/*.py", "benches/**/*.py")
MAX_LINES = 500
MAX_ARGUMENTS = 5
#: Types at the top of a Rust file, and in a macro that makes them.
TYPE = re.compile(r"^(?:    (?=pub ))?(?:pub(?:\([a-z: ]+\))? )?(?:struct|enum|trait|type|union) ([A-Z]\w*)", re.MULTILINE)
#: Variables of Rust loops and closures over one item.
RUST_ONE = re.compile(r"\bfor (?:\w+, |\()?one\b|\|(?:\w+, |\()*one(?:\)|: [^|]*)?\|")
#: Modules whose `__all__` is public; see docs/reference/versioning.md.
PUBLIC = ("__init__.py", "broker.py", "compat.py", "plugins/__init__.py", "polars/__init__.py", "spark/__init__.py")
PUBLIC += ("schemas/__init__.py", "stores.py", "tiered/__init__.py")

#: Classes whose methods are those of public classes below them.
PUBLIC_BASES = {"Entries"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> int:
    """Print each violation and return the exit code."""
    problems = [
        *long_files(),
        *repeated_classes(),
        *repeated_types(),
        *vague_loops(),
        *root_imports(),
        *undrawn_rooms(),
        *long_signatures(),
    ]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def long_files() -> Iterator[str]:
    """Yield the files with too many lines."""
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            count = len(path.read_text(encoding="utf-8").splitlines())
            if count > MAX_LINES and "peers" not in path.parts:
                yield f"{path.relative_to(ROOT)}: {count} lines, more than {MAX_LINES}"


def repeated_classes() -> Iterator[str]:
    """Yield the names of classes that are defined more than once."""
    places = defaultdict(list)
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    for name, found in places.items():
        if len(found) > 1:
            yield f"class {name} is defined more than once: {', '.join(found)}"


def repeated_types() -> Iterator[str]:
    """Yield the names of Rust types that are defined more than once."""
    places = defaultdict(list)
    for path in sorted((ROOT / "src").rglob("*.rs")):
        text = path.read_text(encoding="utf-8")
        for match in TYPE.finditer(text):
            places[match[1]].append(f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start(1)) + 1}")
    for name, found in places.items():
        if len(found) > 1:
            yield f"type {name} is defined more than once: {', '.join(found)}"


def vague_loops() -> Iterator[str]:
    """Yield the loops whose variable is called `one` instead of what it is."""
    for pattern in ("python/**/*.py", "tests/**/*.py", "tools/*.py", "benches/**/*.py"):
        for path in sorted(ROOT.glob(pattern)):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                target = node.target if isinstance(node, ast.For | ast.comprehension) else None
                names = [name.id for name in ast.walk(target) if isinstance(name, ast.Name)] if target else []
                if "one" in names and "other" not in names:
                    yield f"{path.relative_to(ROOT)}:{target.lineno}: a loop variable is called one"
    for pattern in ("src/**/*.rs", "fuzz/src/**/*.rs", "tests/rust/**/*.rs"):
        for path in sorted(ROOT.glob(pattern)):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if RUST_ONE.search(line) and not line.lstrip().startswith("//"):
                    yield f"{path.relative_to(ROOT)}:{number}: a loop variable is called one"


def root_imports() -> Iterator[str]:
    """Yield the imports of the root of the package from inside."""
    for path, tree in modules():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            is_from = isinstance(node, ast.ImportFrom) and node.module == PACKAGE.name
            if (is_from or PACKAGE.name in names) and path != PACKAGE / "__init__.py" and PACKAGE / "cli" not in path.parents:
                yield f"{path.relative_to(ROOT)}:{node.lineno}: imports the root of the package; import from the module"


def undrawn_rooms() -> Iterator[str]:
    """Yield the modules and folders at the top that are not in the drawing."""
    drawing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```")
    drawn = next(set(re.findall(r"\w+", part)) for part in drawing if part.startswith("\npython/logsegment"))
    places = [*PACKAGE.glob("[!_]*"), *PACKAGE.glob("_[!_]*.py"), *(ROOT / "src").glob("*")]
    for path in sorted(places):
        is_room = path.suffix in (".py", ".rs") or (path.is_dir() and any(path.glob("*.[pr]*")))
        if is_room and path.stem not in drawn | {"lib"}:
            yield f"CONTRIBUTING.md does not draw {path.relative_to(ROOT)}"


def long_signatures() -> Iterator[str]:
    """Yield the internal functions with too many arguments."""
    public = public_names() | PUBLIC_BASES
    for path, tree in modules():
        for function, owner in functions(tree):
            arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            count = len([argument for argument in arguments if argument.arg not in ("self", "cls")])
            name = owner or function.name
            is_private = function.name.startswith("_") and function.name != "__init__"
            is_public = name in public and not is_private and "cli" not in path.relative_to(PACKAGE).parts
            if count > MAX_ARGUMENTS and not is_public:
                place = f"{path.relative_to(ROOT)}:{function.lineno}"
                yield f"{place}: {function.name} takes {count} arguments, more than {MAX_ARGUMENTS}"


def functions(tree: ast.Module) -> Iterator[tuple[Function, str | None]]:
    """Yield the functions of a module, each with the name of its class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from ((statement, node.name) for statement in node.body if isinstance(statement, Function))
    inside = {id(statement) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for statement in node.body}
    yield from ((node, None) for node in ast.walk(tree) if isinstance(node, Function) and id(node) not in inside)


def public_names() -> set[str]:
    """Return the names that the public modules export."""
    found: set[str] = set()
    for name in PUBLIC:
        for node in ast.parse((PACKAGE / name).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
                found |= set(ast.literal_eval(node.value))
    return found


def modules() -> Iterator[tuple[Path, ast.Module]]:
    """Yield the modules of the package, each with its syntax tree."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())

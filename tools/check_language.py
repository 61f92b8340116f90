"""Check the words of texts that users see, by section "Language" of CONTRIBUTING.md: `make lint` calls it.

    python tools/check_language.py [--list] [PATH ...]

Checked are the string literals of src/ and python/ (errors, findings, help, warnings), the docstrings of public names with the Rust doc
comments that become docstrings, and the pages. Code in backticks is skipped. `--list` prints every text, for a review.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ("python/**/*.py", "python/**/*.pyi")
RUST = ("src/**/*.rs",)
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md")

#: A rule's name, and the words that break it.
RULES = {
    "tell": r"\b(tell|tells|told)\b",
    "behind": r"\bbehind\b",
    "beside": r"\bbeside\b",
    "passed over": r"\bpassed over\b",
    "left alone": r"\bleft alone\b",
    "taken for": r"\btaken for\b",
    "believed": r"\bbelieved\b",
    "door": r"\bdoors?\b",
    "is no": r"(?<!\bthere )\b(is|are|was|were) no (?!longer\b|more\b|less\b|greater\b)[a-z]+",
    "are none": r"\bthat (are|is) none\b",
}
PATTERNS = {name: re.compile(words, re.IGNORECASE) for name, words in RULES.items()}
SUMMARY = re.compile(r"\s*(What|Whether|That|Which)\b")

#: Path, a part of the line, and the reason why the line may stay.
ALLOWED: tuple[tuple[str, str, str], ...] = ()

#: Code, and the placeholders of messages.
_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)[^`]+(?<!`)\1(?!`)|\{[a-z_]*(?::[^{}]*)?\}")
_RUST_TOKEN = re.compile(
    r"""(?P<doc>///[^\n]*)|//[^\n]*|/\*.*?\*/
    |b?r(?P<hashes>\#*)"(?P<raw>.*?)"(?P=hashes)
    |b?"(?P<string>(?:\\.|[^"\\])*)"
    |'(?:\\.|[^'\\])'""",
    re.DOTALL | re.VERBOSE,
)
_LINE_END = re.compile(r"\\\n\s*")
_RUST_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*mod \w+ \{", re.MULTILINE)


@dataclass(frozen=True)
class Text:
    """A text that a user can see.

    Attributes:
        path: the file, below the root.
        line: where the text begins, from 1.
        text: with its line ends, so that a match can be located.
        is_docstring: the text has a summary.
    """

    path: str
    line: int
    text: str
    is_docstring: bool = False


def main(arguments: list[str]) -> int:
    """Print each violation and return the exit code."""
    names = [name for name in arguments if name != "--list"]
    texts = [text for text in all_texts(ROOT) if not names or any(text.path.startswith(name) for name in names)]
    if "--list" in arguments:
        for text in texts:
            print(f"{text.path}:{text.line}: {' '.join(text.text.split())}")
        return 0
    lines = violations(texts)
    problems = [problem for problem, line in lines if not any(path in problem and part in line for path, part, _ in ALLOWED)]
    if not names:
        problems += [f"{path}: no violation contains {part!r}: drop it from ALLOWED" for path, part in unused(lines)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def unused(lines: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the entries of the allow list that allow nothing."""
    for path, part, _ in ALLOWED:
        if not any(path in problem and part in line for problem, line in lines):
            yield path, part


def violations(texts: list[Text]) -> list[tuple[str, str]]:
    """Return each violation of a rule, and the line of text that it is in."""
    found = []
    for text in texts:
        prose = _CODE.sub(lambda match: re.sub(r"[^\n]", "`", match[0]), text.text)
        # A line end inside of a phrase does not hide the phrase.
        flat = re.sub(r"\n[ ]*", lambda match: " " + "\0" * (len(match[0]) - 1), prose)
        flat, origin = _without_fill(flat)
        for name, pattern in PATTERNS.items():
            for match in pattern.finditer(flat):
                before = text.text[: origin[match.start()]]
                line = text.text.splitlines()[before.count("\n")].strip()
                found.append((f"{text.path}:{text.line + before.count(chr(10))}: {name}: {line}", line))
        if text.is_docstring and (summary := SUMMARY.match(text.text)):
            line = text.text.strip().splitlines()[0]
            found.append((f"{text.path}:{text.line}: summary begins with {summary[1]}: {line}", line))
    return found


def _without_fill(text: str) -> tuple[str, list[int]]:
    kept = [(index, letter) for index, letter in enumerate(text) if letter != "\0"]
    return "".join(letter for _, letter in kept), [index for index, _ in kept]


def all_texts(root: Path) -> Iterator[Text]:
    """Yield the texts of all files."""
    for patterns, read in ((PYTHON, python_texts), (RUST, rust_texts), (PAGES, page_texts)):
        for pattern in patterns:
            for path in sorted(root.glob(pattern)):
                yield from read(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))


def page_texts(path: str, source: str) -> Iterator[Text]:
    """Yield the paragraphs of a page; code blocks too, since their output is text of ours."""
    line = 1
    for block in re.split(r"(\n\n+)", source):
        if block.strip():
            yield Text(path, line, block)
        line += block.count("\n")


def python_texts(path: str, source: str) -> Iterator[Text]:
    """Yield the docstrings of public names, and the strings that hold a space."""
    tree = ast.parse(source)
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                docstrings.add(id(first.value))
                if not getattr(node, "name", "").startswith("_"):
                    yield Text(path, first.lineno, first.value.value, is_docstring=True)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings | inside:
            text = node.value
        else:
            continue
        if " " in text:
            yield Text(path, node.lineno, text)


def rust_texts(path: str, source: str) -> Iterator[Text]:
    """Yield the strings that hold a space, and in src/py/ the doc comments; tests are skipped."""
    if path.endswith("/tests.rs"):
        return
    tests = _RUST_TESTS.search(source)
    source = source[: tests.start()] if tests else source
    comment: list[str] = []
    last = begin = 0
    for token in _RUST_TOKEN.finditer(source):
        line = source.count("\n", 0, token.start()) + 1
        if token["doc"] is not None and path.startswith("src/py/"):
            if comment and line != last + 1:
                yield Text(path, begin, "\n".join(comment), is_docstring=True)
                comment = []
            begin = line if not comment else begin
            comment.append(token["doc"][3:].strip())
            last = line
            continue
        text = token["raw"] if token["raw"] is not None else token["string"]
        if text is not None and " " in text:
            yield Text(path, line, _LINE_END.sub("", text))
    if comment:
        yield Text(path, begin, "\n".join(comment), is_docstring=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

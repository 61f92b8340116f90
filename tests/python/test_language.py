"""The check of the words in user-visible text: it finds each rule's words in each kind of text, and the repository passes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: A sentence that breaks each rule.
BROKEN = {
    "tell": "the header tells the size",
    "behind": "bytes behind the batch",
    "beside": "the files beside a log",
    "passed over": "the batch is passed over",
    "left alone": "other files are left alone",
    "taken for": "the bytes are taken for a batch",
    "believed": "the length is believed",
    "door": "the door to the reader",
    "is no": "a path is no source",
    "are none": "for arguments that are none",
}
ALLOWED = ["there is no segment", "the log is no longer open", "call `tell()` first", "the value {behind} is large"]


@pytest.fixture(scope="module")
def checker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_language", ROOT / "tools" / "check_language.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def written(root: Path, kind: str, text: str) -> str:
    """Write a file with a text of a kind, and return its path."""
    path, content = {
        "error": ("python/logsegment/a.py", f'def f():\n    raise ValueError(f"{{1}}: {text}")\n'),
        "docstring": ("python/logsegment/b.py", f'class A:\n    """Read a segment.\n\n    {text}\n    """\n'),
        "stub": ("python/logsegment/_core.pyi", f'class A:\n    """Read: {text}."""\n'),
        "rust": ("src/a.rs", f'fn f() {{ panic!("{text}"); }}\n'),
        "continued": ("src/b.rs", 'fn f() { panic!("' + text.replace(" ", " \\\n    ", 1) + '"); }\n'),
        "doc comment": ("src/py/c.rs", f"/// Return a batch.\n///\n/// {text}\n#[pyfunction]\n"),
        "page": ("docs/page.md", "# Page\n\n" + text.replace(" ", "\n") + "\n"),
        "output": ("README.md", f"# Page\n\n```console\n$ logsegment cat\n{text}\n```\n"),
    }[kind]
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(content)
    return path


@pytest.mark.parametrize("kind", ["error", "docstring", "stub", "rust", "continued", "doc comment", "page", "output"])
@pytest.mark.parametrize("rule", BROKEN)
def test_each_rule_is_checked_in_each_kind_of_text(checker: ModuleType, rule: str, kind: str, tmp_path: Path):
    path = written(tmp_path, kind, BROKEN[rule])
    found = [problem for problem, _ in checker.violations(list(checker.all_texts(tmp_path)))]
    assert len(found) == 1, found
    assert found[0].startswith(f"{path}:")
    assert f": {rule}: " in found[0]


def test_every_rule_has_a_case(checker: ModuleType):
    assert set(BROKEN) == set(checker.RULES)


@pytest.mark.parametrize("word", ["What", "Whether", "That", "Which"])
def test_a_summary_begins_with_a_verb(checker: ModuleType, word: str, tmp_path: Path):
    (tmp_path / "python").mkdir()
    (tmp_path / "src/py").mkdir(parents=True)
    (tmp_path / "python/a.py").write_text(f'def f():\n    """{word} a segment has."""\n\ndef _f():\n    """{word} is internal."""\n')
    (tmp_path / "src/py/a.rs").write_text(f"/// {word} a segment has.\nfn f() {{}}\n")
    found = [problem for problem, _ in checker.violations(list(checker.all_texts(tmp_path)))]
    assert [problem.split(": ")[:2] for problem in found] == [
        ["python/a.py:2", f"summary begins with {word}"],
        ["src/py/a.rs:1", f"summary begins with {word}"],
    ]


@pytest.mark.parametrize("text", ALLOWED)
def test_other_sentences_pass(checker: ModuleType, text: str, tmp_path: Path):
    for kind in ("docstring", "rust", "page"):
        written(tmp_path, kind, text)
    assert checker.violations(list(checker.all_texts(tmp_path))) == []


def test_tests_of_rust_are_not_text_for_users(checker: ModuleType, tmp_path: Path):
    (tmp_path / "src").mkdir()
    tests = '#[cfg(test)]\nmod tests {\n    fn f() { assert!(true, "it tells nothing"); }\n}\n'
    (tmp_path / "src/a.rs").write_text(f"fn f() {{}}\n\n{tests}")
    (tmp_path / "src/tests.rs").write_text('fn f() { assert!(true, "it tells nothing"); }\n')
    assert checker.violations(list(checker.all_texts(tmp_path))) == []


def test_the_program_fails_on_a_violation_and_on_an_unused_allowance(
    checker: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    written(tmp_path, "rust", BROKEN["tell"])
    monkeypatch.setattr(checker, "ROOT", tmp_path)
    monkeypatch.setattr(checker, "ALLOWED", ())
    assert checker.main([]) == 1
    assert capsys.readouterr().out == f"src/a.rs:1: tell: {BROKEN['tell']}\n"
    monkeypatch.setattr(checker, "ALLOWED", (("src/a.rs", "the header tells", "a quotation"),))
    assert checker.main([]) == 0
    monkeypatch.setattr(checker, "ALLOWED", (("src/a.rs", "the header tells", "a quotation"), ("src/b.rs", "tells", "gone")))
    assert checker.main([]) == 1
    assert "src/b.rs: no violation contains 'tells'" in capsys.readouterr().out


def test_the_allow_list_is_short_and_has_reasons(checker: ModuleType):
    assert len(checker.ALLOWED) <= 12
    assert all(path and part and reason for path, part, reason in checker.ALLOWED)


def test_the_sources_pass(checker: ModuleType):
    assert checker.main(["src", "python"]) == 0

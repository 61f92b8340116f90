"""What pages and docstrings say is so: examples of README, docs/how-to and docstrings run; rules and deviations are all explained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hostile
import logsegment as ls
import object_store
from doc_examples import ROOT, blocks, check_console_examples, console_examples, doc_pages, furnish, run_examples

FORMATS = ROOT / "docs/reference/formats"
#: All whose readers run examples, but the page whose tasks test_first_attempts.py runs, each by itself.
PAGES = [page for page in doc_pages("tutorial", "how-to", "recipes", "reference", "explanation") if page.name != "first-attempts.md"]
#: A rule id as a literal of its own, and the words that rules have besides.
RULE_ID = re.compile(r'"([A-Z][A-Z0-9]*-[A-Z]?[0-9]+)"')
RULE_WORD = re.compile(r'=> "([A-Z0-9-]+)"')
RULE_METHOD = re.compile(r"fn rule\(&self\)[^{]*\{(.*?)\n    \}", re.DOTALL)
#: A rule id in any text, a range of rules, and other names that look like a rule id.
MENTION = re.compile(r"\b([A-Z][A-Z0-9]{0,2}-[A-Z]?)([0-9]+[a-d]?)\b")
RANGE = re.compile(r"\b([A-Z][A-Z0-9]{0,2}-[A-Z]?)([0-9]+)[a-d]? to \1([0-9]+)")
NOT_RULES = {"A-Z", "Z0-", "AES-", "AVX-", "BSD-", "BSL-", "CRC-", "KIP-", "SHA-", "UTF-"}
#: Pages that have no section about deviations: each rule has what Kafka does and what logsegment does.
RULE_PAGES = {"README.md", "compaction.md", "conversions.md", "segment-files.md", "tiered-storage.md"}
EXPLANATION = re.compile(r'<a id="([a-z0-9-]+)"></a>([A-Z0-9-]+[a-d]?)')


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A directory with the sample, which is the current one; a page has a store, too."""
    furnish(tmp_path)
    page = request.node.callspec.params["page"] if hasattr(request.node, "callspec") else None
    if page is not None and page.name == "read-from-s3.md":
        for name, value in request.getfixturevalue("store").items():
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a server that speaks S3 and has the directories as buckets."""
    with object_store.serving(tmp_path) as environment:
        yield environment


def python_blocks(page: Path, *, spark: bool) -> list[str]:
    return [code for code in blocks(page.read_text(encoding="utf-8"), "python") if bool(re.search(r"\bspark\b", code)) == spark]


def commands(page: Path) -> list[tuple[str, str]]:
    return list(console_examples(page.read_text(encoding="utf-8")))


def title(page: Path) -> str:
    return str(page.relative_to(ROOT))


def run_python(codes: list[str], name: str, names: dict[str, Any]) -> int:
    """Run blocks in one namespace; those with prompts are held against the output they show. Gives the number of statements or blocks."""
    ran = 0
    for code in codes:
        if ">>> " in code:
            ran += run_examples(code, name, names)
        else:
            exec(compile(code, name, "exec"), names)
            ran += 1
    return ran


# Short examples leave a file to the collector, as a prompt does.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page, spark=False)], ids=title)
def test_python_examples_run(page: Path, place: Path):
    assert run_python(python_blocks(page, spark=False), title(page), {}) > 0


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page, spark=True)], ids=title)
def test_spark_examples_run(page: Path, place: Path):
    from spark_session import spark_session

    spark = spark_session()
    assert run_python(python_blocks(page, spark=True), title(page), {"spark": spark, "__name__": "example"}) > 0


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=title)
def test_console_examples_run(page: Path, place: Path):
    assert check_console_examples(page.read_text(encoding="utf-8")) > 0


def test_every_guide_is_listed():
    index = (ROOT / "docs/how-to/README.md").read_text(encoding="utf-8")
    for page in doc_pages("how-to")[1:]:
        assert page.name == "README.md" or f"({page.name})" in index
    assert len(python_blocks(ROOT / "README.md", spark=False)) >= 1
    assert len(python_blocks(ROOT / "README.md", spark=True)) >= 1
    assert len(commands(ROOT / "README.md")) >= 2
    assert len(python_blocks(ROOT / "docs/how-to/read-with-python.md", spark=False)) >= 10
    assert python_blocks(ROOT / "docs/how-to/read-with-spark.md", spark=True)
    assert commands(ROOT / "docs/how-to/read-on-the-command-line.md")


@pytest.mark.parametrize(("name", "most"), [("README.md", 150), ("CHANGELOG.md", 40)])
def test_first_pages_are_short(name: str, most: int):
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= most


def test_no_paragraph_of_a_guide_is_long():
    """A guide shows examples before it explains: a paragraph of text has at most 110 words."""
    for page in doc_pages("tutorial", "how-to", "recipes", "explanation"):
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        blocks = [block for block in re.split(r"\n\s*\n|^[-|*] ", text, flags=re.MULTILINE) if not block.startswith(("|", "#", "<"))]
        long = [block for block in blocks if len(block.split()) > 110 and "| " not in block]
        assert page.name == "benchmarks.md" or long == [], f"{title(page)}: {long[0][:80]}"


PUBLIC = [name for name in ls.__all__ if name != "__version__"]
FUNCTIONS = [name for name in PUBLIC if callable(getattr(ls, name)) and not isinstance(getattr(ls, name), type)]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_documented(name: str):
    assert (getattr(ls, name).__doc__ or "").strip()


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if getattr(ls, name).__module__ != "logsegment._core"])
def test_functions_document_arguments_result_errors_and_an_example(name: str):
    text = getattr(ls, name).__doc__
    missing = [part for part in ("Args:", "Returns:", "Raises:", "Example:", ">>> ") if part not in text]
    assert not missing


# Short examples leave a file to the collector, as a prompt does.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_docstring_examples_run(place: Path):
    documented = {"logsegment": ls.__doc__} | {name: getattr(ls, name).__doc__ for name in PUBLIC}
    documented |= {f"compat.{name}": getattr(ls.compat, name).__doc__ for name in ("produce", "fetch", "client")}
    documented |= {f"schemas.{name}": getattr(ls.schemas, name).__doc__ for name in ls.schemas.__all__}
    documented["polars.scan"] = ls.polars.scan.__doc__
    ran = {name: run_examples(text, name, {}) for name, text in documented.items() if text and ">>> " in text}
    assert ran.keys() >= {"logsegment", "Limits", "FileSource", "decode", "batches", "batch_stream", "validate", "polars.scan"}
    assert ran.keys() >= {"decode_array", "explode_array", "batch_info_array", "validate_array"}
    assert sum(ran.values()) >= 31


def test_every_rule_has_its_anchor_and_no_anchor_is_left_over():
    anchors = re.findall(r'<a id="([a-z0-9-]+)"></a>([A-Z0-9-]+)', (ROOT / "docs/reference/findings.md").read_text())
    assert [anchor for anchor, rule in anchors if anchor != rule.lower()] == []
    documented = [rule for _, rule in anchors]
    assert len(documented) == len(set(documented))
    assert set(documented) == rules_in_source()


def rules_in_source() -> set[str]:
    """Ids that the code can give, without those of its tests."""
    rules: set[str] = set()
    for path in (ROOT / "src").rglob("*.rs"):
        text = path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests {")[0]
        if path.stem not in {"tests", "testing"}:
            rules.update(RULE_ID.findall(text))
            for method in RULE_METHOD.findall(text):
                rules.update(RULE_WORD.findall(method))
    assert len(rules) >= 60, "the pattern no longer fits the sources"
    for path in (ROOT / "python/logsegment").rglob("*.py"):
        rules.update(RULE_ID.findall(path.read_text(encoding="utf-8")))
    return rules


def test_every_rule_that_a_source_names_is_explained_once():
    pages = [ROOT / "docs/reference/findings.md", *sorted(FORMATS.glob("*.md"))]
    found = [anchor for page in pages for anchor in EXPLANATION.findall(page.read_text(encoding="utf-8"))]
    assert [anchor for anchor, rule in found if anchor != rule.lower()] == []
    explained = {rule for _, rule in found}
    assert len(explained) == len(found), "a rule is explained twice"
    code, tests = sources("src", "python"), sources("tests")
    named = mentions(code) | ranges(code) | mentions(tests)
    assert len(named) >= 300, "the pattern no longer fits the sources"
    assert sorted(named - explained) == []
    assert sorted(explained - named - ranges(tests) - rules_in_source()) == []


def test_every_rule_that_a_page_names_is_explained():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert sorted(mentions(text) - {rule for _, rule in EXPLANATION.findall(text)}) == []


def sources(*directories: str) -> str:
    """All Rust and Python sources in these directories, as one text."""
    files = [file for directory in directories for file in sorted((ROOT / directory).rglob("*")) if file.suffix in {".rs", ".py", ".pyi"}]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def mentions(text: str) -> set[str]:
    return {family + number for family, number in MENTION.findall(text) if family not in NOT_RULES}


def ranges(text: str) -> set[str]:
    return {f"{family}{number}" for family, first, last in RANGE.findall(text) for number in range(int(first), int(last) + 1)}


def test_rules_of_all_hostile_cases_are_explained():
    explained = set(re.findall(r"</a>([A-Z0-9-]+)", (ROOT / "docs/reference/findings.md").read_text()))
    seen = {finding.split()[1] for row in hostile.outcomes().values() for finding in row["findings"]}
    assert len(seen) >= 40
    assert seen <= explained


def test_links_to_rules_lead_somewhere():
    text = (ROOT / "docs/reference/findings.md").read_text(encoding="utf-8")
    anchors = set(re.findall(r'<a id="([^"]+)"', text))
    anchors |= {re.sub("[,']", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^## (.+)$", text, re.MULTILINE)}
    pages = [*PAGES, *(ROOT / "docs").rglob("*.md")]
    links = [link for page in pages for link in re.findall(r"findings\.md#([^)\s]+)\)", page.read_text(encoding="utf-8"))]
    assert len(links) >= 35
    assert set(links) <= anchors


def test_every_deviation_from_kafka_is_explained_on_the_page_of_the_format():
    # Kafka never had v3, and the pages of rules have a column for it.
    pages = {page.name for page in FORMATS.glob("*.md")} - {"v3.md"} - RULE_PAGES
    section = "## Where logsegment deviates from Kafka"
    assert [name for name in sorted(pages) if section not in (FORMATS / name).read_text(encoding="utf-8")] == []
    deviating = {name for name, row in hostile.outcomes().items() if row.get("deviation")}
    assert len(deviating) >= 10
    assert {name for page in FORMATS.glob("*.md") for name in hostile.explained(page)} == deviating


def test_pages_about_formats_are_listed_where_readers_look():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    guide = (ROOT / "docs/how-to/README.md").read_text(encoding="utf-8")
    index = (FORMATS / "README.md").read_text(encoding="utf-8")
    names = {page.name for page in FORMATS.glob("*.md")} - {"README.md"}
    assert sorted(name for name in names if f"({name})" not in index) == []
    assert "(docs/reference/formats/README.md)" in readme
    for name in names - RULE_PAGES:
        assert f"(../reference/formats/{name})" in guide

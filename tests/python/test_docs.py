"""What pages and docstrings say is so: examples of README, docs/guide and docstrings run; rules and deviations are all explained."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import corpus
import hostile
import logsegment as ls
import tiered_corpus as tiered

ROOT = corpus.TESTS.parent
DATA = corpus.CORPUS / "modern-4.1.0/data"
FORMATS = ROOT / "docs/formats"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/guide").glob("*.md"))]
GUIDES = {"README.md", "python.md", "command-line.md", "migrating-old-segments.md"}
GUIDES |= {
    "spark-streaming.md",
    "spark-writing.md",
    "spark-cluster.md",
    "spark.md",
    "files-and-stores.md",
    "plugins.md",
    "damaged-segments.md",
    "internal-topics.md",
    "tiered-storage.md",
    "other-engines.md",
}
#: What examples find in their directory: name -> directory of the corpus, as docs/guide/README.md lists it.
PLACES = {".": "codec-zstd-0", "orders-0": "codec-zstd-0", "payments-0": "transactions-multi-segment-0"}
PLACES |= {name: name for name in ("__consumer_offsets-1", "__cluster_metadata-0")}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Commands that set things up, which an example shows and a test does not do.
SET_UP = re.compile(r"(pip|python -m pip|make|spark-submit|git|cd)\b")
#: A rule id as a literal of its own, and the words that rules have besides.
RULE_ID = re.compile(r'"([A-Z][A-Z0-9]*-[A-Z]?[0-9]+)"')
RULE_WORD = re.compile(r'=> "([A-Z0-9-]+)"')
RULE_METHOD = re.compile(r"fn rule\(&self\)[^{]*\{(.*?)\n    \}", re.DOTALL)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A directory with real segments, which is the current one; with uploads under keys for the page about them alone."""
    for name, source in PLACES.items():
        (tmp_path / name).mkdir(exist_ok=True)
        for file in sorted((DATA / source).glob("*.log" if name == "." else "*")):
            shutil.copyfile(file, tmp_path / name / file.name)
    page = getattr(request.node, "callspec", None)
    if page is None or page.params["page"].name == "tiered-storage.md":
        shutil.copytree(tiered.BUCKET, tmp_path / "bucket")
        for name, key in tiered.KEYS.items():
            (tmp_path / f"{name}.der").write_bytes(key)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks(page: Path, language: str) -> list[str]:
    return [code for found, code in FENCE.findall(page.read_text(encoding="utf-8")) if found == language]


def python_blocks(page: Path, *, spark: bool) -> list[str]:
    return [code for code in blocks(page, "python") if bool(re.search(r"\bspark\b", code)) == spark]


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


def run_examples(text: str, name: str, names: dict[str, Any]) -> int:
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    failed = runner.run(test, out=report.append, clear_globs=False).failed
    names.update(test.globs)
    assert not failed, "".join(report)
    return len(test.examples)


def console_examples(page: Path) -> Iterator[tuple[str, str]]:
    """Commands behind a prompt, with the output that the page shows for each."""
    for block in blocks(page, "console"):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = example.partition("\n")
            while command.endswith("\\"):
                more, _, output = output.partition("\n")
                command = f"{command[:-1]}{more.removeprefix('> ').lstrip()}"
            if not SET_UP.match(command):
                yield command, output


def run_command(command: str) -> str:
    """Output of a command that must succeed; a page that shows a failure writes `|| echo` behind it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "120", "NO_COLOR": "1"}
    # A reader such as head may stop early, which is no failure; everything else is.
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout


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


@pytest.mark.parametrize("page", [page for page in PAGES if list(console_examples(page))], ids=title)
def test_console_examples_run(page: Path, place: Path):
    checker = doctest.OutputChecker()
    for command, expected in console_examples(page):
        found = run_command(command)
        assert not expected or checker.check_output(expected, found, FLAGS), f"$ {command}\n{found}"


def test_every_guide_is_listed_and_has_examples():
    assert {page.name for page in PAGES} == GUIDES, "a guide is missing, or stands in no list"
    assert len(python_blocks(ROOT / "README.md", spark=False)) >= 1
    assert len(python_blocks(ROOT / "README.md", spark=True)) >= 2
    assert len(list(console_examples(ROOT / "README.md"))) >= 2
    assert len(python_blocks(ROOT / "docs/guide/python.md", spark=False)) >= 10
    assert python_blocks(ROOT / "docs/guide/spark.md", spark=True)
    assert list(console_examples(ROOT / "docs/guide/command-line.md"))


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
    documented["polars.scan"] = ls.polars.scan.__doc__
    ran = {name: run_examples(text, name, {}) for name, text in documented.items() if text and ">>> " in text}
    assert ran.keys() >= {"logsegment", "Limits", "FileSource", "decode", "batches", "batch_stream", "validate", "polars.scan"}
    assert ran.keys() >= {"decode_array", "explode_array", "batch_info_array", "validate_array"}
    assert sum(ran.values()) >= 31


def test_every_rule_has_its_anchor_and_no_anchor_is_left_over():
    anchors = re.findall(r'<a id="([a-z0-9-]+)"></a>([A-Z0-9-]+)', (ROOT / "docs/findings.md").read_text())
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


def test_rules_of_all_hostile_cases_are_explained():
    explained = set(re.findall(r"</a>([A-Z0-9-]+)", (ROOT / "docs/findings.md").read_text()))
    seen = {finding.split()[1] for row in hostile.outcomes().values() for finding in row["findings"]}
    assert len(seen) >= 40
    assert seen <= explained


def test_links_to_rules_lead_somewhere():
    text = (ROOT / "docs/findings.md").read_text(encoding="utf-8")
    anchors = set(re.findall(r'<a id="([^"]+)"', text))
    anchors |= {heading.lower().replace(",", "").replace(" ", "-") for heading in re.findall(r"^## (.+)$", text, re.MULTILINE)}
    pages = [*PAGES, *(ROOT / "docs").rglob("*.md")]
    links = [link for page in pages for link in re.findall(r"findings\.md#([^)\s]+)\)", page.read_text(encoding="utf-8"))]
    assert len(links) >= 35
    assert set(links) <= anchors


def test_every_deviation_from_kafka_is_explained_on_the_page_of_the_format():
    pages = {"v2.md", "v0-v1.md", "kafka-0.7.md", "lz4.md", "zstd.md", "plugins.md"}
    # Kafka never had v3: there is nothing to deviate from.
    assert {page.name for page in FORMATS.glob("*.md")} == pages | {"v3.md"}
    section = "## Where logsegment deviates from Kafka"
    assert [name for name in sorted(pages) if section not in (FORMATS / name).read_text(encoding="utf-8")] == []
    deviating = {name for name, row in hostile.outcomes().items() if row.get("deviation")}
    assert len(deviating) >= 10
    assert {name for page in FORMATS.glob("*.md") for name in hostile.explained(page)} == deviating


def test_pages_about_formats_are_listed_where_readers_look():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    guide = (ROOT / "docs/guide/README.md").read_text(encoding="utf-8")
    for page in FORMATS.glob("*.md"):
        assert f"(docs/formats/{page.name})" in readme
        assert f"(../formats/{page.name})" in guide

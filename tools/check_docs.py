"""Check the Markdown pages: links, the form of decisions, and names of pages that are not in the repository.

    python tools/check_docs.py

The tests run the examples inside the pages.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DECISIONS = ROOT / "docs" / "project" / "decisions"

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
#: A page such as README.md, by its name in text.
PAGE_NAME = re.compile(r"\b[A-Z][A-Z_]+\.md\b")
STATUS = re.compile(r"Date: \d{4}-\d\d-\d\d.*\. Status: (accepted|superseded by \[)")
PARTS = ["Context", "Decision", "Alternatives", "Consequences"]
MOST_WORDS = 600


def main() -> int:
    """Check all pages; print each problem; return the exit code."""
    pages = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    problems = [problem for page in pages for problem in broken_links(page)] + unknown_pages() + unlisted_decisions()
    problems += [problem for page in sorted(DECISIONS.glob("[0-9]*.md")) for problem in malformed_decision(page)]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"docs: {len(pages)} pages, {len(problems)} problems")
    return 1 if problems else 0


def broken_links(page: Path) -> list[str]:
    """Return the page's links to files that do not exist in the repository; links to the web are skipped."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [link.split("#")[0] for link in LINK.findall(text) if not re.match(r"[a-z]+:", link)]
    missing = [target for target in targets if target and not is_in_repository(page.parent / target)]
    return [f"{page.relative_to(ROOT)}: no file {target}" for target in missing]


def is_in_repository(path: Path) -> bool:
    """Return True if the path exists below the root."""
    return path.exists() and path.resolve().is_relative_to(ROOT)


def unknown_pages() -> list[str]:
    """Return the names of pages in any text file that no page of the repository has."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    known = {Path(name).name for name in listed}
    problems = []
    for name in filter(None, listed):
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        problems += [f"{name}: {page} is not in the repository" for page in sorted(set(PAGE_NAME.findall(text)) - known)]
    return problems


def unlisted_decisions() -> list[str]:
    """Return the decisions, and the unused numbers, that their index does not name."""
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    names = [page.name for page in sorted(DECISIONS.glob("[0-9]*.md"))]
    missing = [name for name in names if f"({name})" not in index]
    used = {int(name[:4]) for name in names}
    missing += [f"number {number:04d}" for number in range(1, max(used)) if number not in used and f"{number:04d}" not in index]
    return [f"docs/project/decisions/README.md: does not list {name}" for name in missing]


def malformed_decision(page: Path) -> list[str]:
    """Return what differs from the form of a decision: title, date and status, a table, then the four parts."""
    text = page.read_text(encoding="utf-8")
    lines, first = text.splitlines(), text.partition("\n## ")[0]
    words = sum(len(line.split()) for line in lines if not line.startswith("|"))
    problems = [] if lines[0].startswith(f"# {page.name[:4]}: ") else ["the title must begin with the number"]
    problems += [] if STATUS.match(lines[2]) else ["the third line must have date and status"]
    problems += [] if "\n| ---" in first else ["the deciding table must come first"]
    problems += [] if re.findall(r"^## (.+)$", text, re.MULTILINE) == PARTS else [f"the parts must be {', '.join(PARTS)}"]
    problems += [] if words <= MOST_WORDS else [f"{words} words, at most {MOST_WORDS}"]
    return [f"{page.relative_to(ROOT)}: {problem}" for problem in problems]


if __name__ == "__main__":
    sys.exit(main())

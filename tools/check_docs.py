"""Check the Markdown pages: every relative link leads to a file, every decision stands in its index.

    python tools/check_docs.py

Examples inside the pages are run by the tests, not here.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DECISIONS = ROOT / "docs" / "decisions"

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Check all pages; print each fault; return the exit code."""
    pages = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    faults = [fault for page in pages for fault in broken_links(page)] + unlisted_decisions()
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"docs: {len(pages)} pages, {len(faults)} faults")
    return 1 if faults else 0


def broken_links(page: Path) -> list[str]:
    """Return the page's links to files that do not exist; links to the web are left alone."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [link.split("#")[0] for link in LINK.findall(text) if not re.match(r"[a-z]+:", link)]
    missing = [target for target in targets if target and not (page.parent / target).exists()]
    return [f"{page.relative_to(ROOT)}: no file {target}" for target in missing]


def unlisted_decisions() -> list[str]:
    """Return the decisions that their index does not name."""
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    pages = sorted(DECISIONS.glob("[0-9]*.md"))
    return [f"docs/decisions/README.md: does not list {page.name}" for page in pages if f"({page.name})" not in index]


if __name__ == "__main__":
    sys.exit(main())

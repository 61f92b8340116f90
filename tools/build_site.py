"""Build the documentation site into target/site/html; every warning is an error.

    python tools/build_site.py

The pages in docs/ are readable on GitHub. Staged copies differ from them in three ways: links that leave docs/ lead to the repository, the
pages of the root are in the section about the project, and each page about a verb contains the help of the verb.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cli_pages import verb_help

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SITE = ROOT / "target" / "site"
PAGES, HTML = SITE / "pages", SITE / "html"
REPOSITORY = "https://github.com/logsegment/logsegment"
#: Pages of the repository that the site has too: file -> page.
MOVED = {
    ROOT / "CHANGELOG.md": "project/changelog.md",
    ROOT / "CODE_OF_CONDUCT.md": "project/conduct.md",
    ROOT / "CONTRIBUTING.md": "project/contributing.md",
    ROOT / "SECURITY.md": "project/security.md",
    ROOT / "benches" / "README.md": "project/benchmark-runs.md",
}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
HELP = re.compile(r"<!-- help: ([a-z0-9 ]+) -->")
#: What the site generator prints that is not a problem.
PROGRESS = re.compile(r"(Build (started|finished).*|No issues found)?$")


def main() -> int:
    """Stage the pages, build the site and return the exit code."""
    stage()
    problems = build()
    print(*problems, sep="\n", file=sys.stderr)
    print(f"site: {len(list(HTML.rglob('*.html')))} pages in {HTML.relative_to(ROOT)}, {len(problems)} problems")
    return 1 if problems else 0


def stage() -> None:
    """Write the pages that the site generator reads."""
    shutil.rmtree(SITE, ignore_errors=True)
    for source in sorted(DOCS.rglob("*")):
        if source.is_file() and source.suffix != ".md":
            copied = PAGES / source.relative_to(DOCS)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copied)
    for source in [*sorted(DOCS.rglob("*.md")), *MOVED]:
        page = place_of(source)
        (PAGES / page).parent.mkdir(parents=True, exist_ok=True)
        (PAGES / page).write_text(staged(source, page), encoding="utf-8")


def place_of(source: Path) -> Path:
    """Return the path of a page below the directory of pages."""
    return Path(MOVED[source]) if source in MOVED else source.relative_to(DOCS)


def staged(source: Path, page: Path) -> str:
    """Return the text of a page with the links of the site and the help of verbs."""
    text = outside_code(source.read_text(encoding="utf-8"), lambda part: LINK.sub(lambda link: moved(link, source, page), part))
    return HELP.sub(lambda mark: verb_help(mark[1].split()), text)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to the parts of a text that are not code."""
    return "".join(part if at % 2 else change(part) for at, part in enumerate(CODE.split(text)))


def moved(link: re.Match[str], source: Path, page: Path) -> str:
    """Return a link as the site needs it."""
    target, hash_sign, anchor = link[2].partition("#")
    if not target or re.match(r"[a-z]+:", target):
        return link[0]
    path = Path(os.path.normpath(source.parent / target))
    if path.is_dir() and (path / "README.md").exists() and path.is_relative_to(DOCS):
        path /= "README.md"
    if not path.exists():
        # The site generator reports it.
        return link[0]
    if path in MOVED or (path.is_relative_to(DOCS) and path.is_file()):
        found = os.path.relpath(place_of(path), page.parent)
    else:
        found = f"{REPOSITORY}/{'tree' if path.is_dir() else 'blob'}/main/{path.relative_to(ROOT)}"
    return f"{link[1]}{found}{hash_sign}{anchor}{link[3]}"


def build() -> list[str]:
    """Build the site and return the problems that the generator reports."""
    command = [Path(sys.executable).with_name("zensical"), "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"}, check=False)
    output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    if not (problems := [line for line in output.splitlines() if not PROGRESS.match(line.strip())]) and done.returncode:
        problems = [f"zensical ended with exit code {done.returncode}"]
    return problems


if __name__ == "__main__":
    sys.exit(main())

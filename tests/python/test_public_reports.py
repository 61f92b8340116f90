"""The page of public reports names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "project" / "public-reports.md"


def test_each_report_names_a_test():
    rows = [
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and not line.startswith(("| report", "| ---"))
    ]
    assert len(rows) >= 30
    for row in rows:
        reference = re.search(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row)
        assert reference is not None, row
        path, name = reference.groups()
        text = (ROOT / path).read_text(encoding="utf-8")
        assert name is None or f"def {name}(" in text, f"{path} has no {name}"

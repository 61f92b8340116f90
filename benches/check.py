"""`make bench-check`: compares benches/results.json with every threshold; exit code 1 if one is missed."""

import json
import sys

from benches.paths import RESULTS
from benches.thresholds import checks


def main():
    if not RESULTS.exists():
        sys.exit("benches/results.json is missing: run make bench")
    found = checks(json.loads(RESULTS.read_text()))
    print(table(found))
    missed = [check for check in found if not check.ok]
    print(f"\n{len(found) - len(missed)} of {len(found)} thresholds held")
    sys.exit(1 if missed else 0)


def table(found):
    rows = [("", "rule", "case", "value", "limit", "note"), *map(row, found)]
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() for cells in rows)


def row(check):
    value = "not measured" if check.value is None else f"{check.value:.2f}"
    limit = f"{'<=' if check.at_most else '>='} {check.limit:g}"
    return ("ok" if check.ok else "FAIL", check.rule, check.subject, value, limit, check.note)


if __name__ == "__main__":
    main()

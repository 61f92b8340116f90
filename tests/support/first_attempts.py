"""The tasks of docs/tutorial/first-attempts.md, each run by itself: `python first_attempts.py EXTRA` runs those that need an extra.

tests/python/test_first_attempts.py starts it with the Python of the tests, tools/wheel_check.py where only the extra is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import doc_examples
import object_store

PAGE = doc_examples.ROOT / "docs/tutorial/first-attempts.md"
#: The name of the tasks for which `pip install logsegment` is enough.
NO_EXTRA = "none"
#: Where the batch of offset 200 starts in `orders-0`: the backup ended early.
BACKUP_BYTES = 30_723
_INSTALL = re.compile(r"pip install \"?logsegment(?:\[(\w+)\])?\"?")


@dataclass(frozen=True)
class Attempt:
    """A section of the page: its heading, the extra that it names, and its text."""

    title: str
    extra: str
    text: str

    @property
    def code_lines(self) -> list[str]:
        """The lines that a user types in Python."""
        lines = "".join(doc_examples.blocks(self.text, "python")).splitlines()
        return [line for line in lines if line.startswith((">>> ", "... "))]

    def run(self) -> None:
        """Run the code in names of its own, then the commands; an AssertionError shows the first difference."""
        ran = doc_examples.run_examples("".join(doc_examples.blocks(self.text, "python")), self.title, {"__name__": "__main__"})
        ran += doc_examples.check_console_examples(self.text)
        assert ran, f"{self.title}: nothing to run"


def attempts() -> list[Attempt]:
    """Return the tasks in the order of the page."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [Attempt(section.partition("\n")[0], _extra(section), section) for section in sections]


def _extra(section: str) -> str:
    named = _INSTALL.search(section)
    assert named, f"no installation is named: {section[:60]}"
    return named[1] or NO_EXTRA


def furnish(place: Path) -> None:
    """Copy what the tasks read into a directory: the files of all pages, a log directory, a bucket, a damaged partition and a backup."""
    doc_examples.furnish(place)
    segment = "00000000000000000000.log"
    for name in ("broken-0", "backup/orders-0"):
        (place / name).mkdir(parents=True)
    for name in ("kafka-logs/orders-0", "kafka-logs/payments-0", "lake/orders-0"):
        shutil.copytree(place / Path(name).name, place / name)
    shutil.copyfile(doc_examples.TESTS / "hostile/data/v2-crc-bitflip.log", place / "broken-0" / segment)
    shutil.copytree(doc_examples.TESTS / "corpus/legacy-0.8.2.2/data/codec-gzip-0", place / "old-logs/clicks-0")
    (place / "backup/orders-0" / segment).write_bytes((place / "orders-0" / segment).read_bytes()[:BACKUP_BYTES])


def main(extra: str) -> int:
    """Run the tasks of an extra in a new directory, as in an environment that is activated; return how many failed."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        furnish(place)
        os.chdir(place)
        with object_store.serving(place) as environment:
            os.environ.update(environment)
            for attempt in attempts():
                if attempt.extra == extra:
                    failed += not _passes(attempt)
        os.chdir("/")
        _end_spark()
    return failed


def _end_spark() -> None:
    """Wait for Spark's JVM, if there is one: it would outlive this process, and miss its files where they are removed then."""
    if "pyspark" not in sys.modules:
        return
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def _passes(attempt: Attempt) -> bool:
    try:
        attempt.run()
    except AssertionError as error:
        print(f"FAILED: {attempt.title}\n{error}", flush=True)
        return False
    print(f"ok: {attempt.title}", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""The tasks of docs/tutorial/first-attempts.md, each run by itself: `python first_attempts.py EXTRA` runs those that need an extra.

tests/python/test_first_attempts.py starts it with the Python of the tests, tools/wheel_check.py where only the extra is installed.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import doc_examples
import object_store

PAGE = doc_examples.ROOT / "docs/tutorial/first-attempts.md"
#: The name of the tasks for which `pip install logsegment` is enough.
NO_EXTRA = "none"
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


def main(extra: str) -> int:
    """Run the tasks of an extra in a new directory, as in an environment that is activated; return how many failed."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        doc_examples.furnish(place)
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

"""`logsegment follow` in the test's own process, looking when the test says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from logsegment._options import OnError
from logsegment.cli.follow import Following
from logsegment.cli.output.records import JsonLines, Rows

COLUMNS = ["topic", "partition", "offset", "value"]


class Watched:
    """The verb, and the offsets that it shows with each look."""

    def __init__(self, path: str | Path, start: int | None, on_error: OnError, capture: Any) -> None:
        self._path, self._capture = path if isinstance(path, str) else str(path), capture
        sink = JsonLines(COLUMNS, Rows(None, None, None, None), "auto", 1)
        self.following = Following(sink, False, None, on_error, False, None, None, False, start)

    def look(self) -> tuple[list[int], str]:
        """Offsets that are shown, and what is said."""
        self._capture.readouterr()
        self.following.look([self._path])
        shown = self._capture.readouterr()
        return [json.loads(line)["offset"] for line in shown.out.splitlines()], shown.err.decode()


#: What the fixture `watch` is.
Watch = Callable[..., Watched]

"""`logsegment follow` in the test's own process, looking when the test says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from logsegment._options import OnError, ReadOptions
from logsegment._read.follow import FollowedLogs, FollowOptions
from logsegment.cli.exit_codes import input_errors
from logsegment.cli.follow import FollowProgress
from logsegment.cli.output.records import JsonForm, JsonLines

COLUMNS = ["topic", "partition", "offset", "value"]


class Watched:
    """The verb, and the offsets that it shows with each look."""

    def __init__(self, path: str | Path, start: int | None, on_error: OnError, capture: Any) -> None:
        self._capture = capture
        self._sink = JsonLines(COLUMNS, JsonForm("auto"), 1)
        self.following = FollowProgress(quiet=False)
        options = FollowOptions(ReadOptions(columns=self._sink.columns, on_error=on_error), {}, start)
        self._logs = FollowedLogs([path if isinstance(path, str) else str(path)], options=options, observer=self.following)

    def look(self) -> tuple[list[int], str]:
        """Offsets that are shown, and what is said."""
        self._capture.readouterr()
        with input_errors():
            self._sink.write(self._logs.look())
        shown = self._capture.readouterr()
        return [json.loads(line)["offset"] for line in shown.out.splitlines()], shown.err.decode()


#: What the fixture `watch` is.
Watch = Callable[..., Watched]

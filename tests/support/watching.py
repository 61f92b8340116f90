"""`logsegment follow` in the test's own process, looking when the test says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from logsegment._options import OnError
from logsegment.cli.follow import FollowArguments, Following
from logsegment.cli.output.records import JsonForm, JsonLines, RowFilter
from logsegment.cli.values import ValueArguments

COLUMNS = ["topic", "partition", "offset", "value"]


class Watched:
    """The verb, and the offsets that it shows with each look."""

    def __init__(self, path: str | Path, start: int | None, on_error: OnError, capture: Any) -> None:
        self._path, self._capture = path if isinstance(path, str) else str(path), capture
        sink = JsonLines(COLUMNS, RowFilter(None, None, None, None), JsonForm("auto"), 1)
        arguments = FollowArguments(
            paths=(self._path,),
            offset=start,
            columns=COLUMNS,
            form=None,
            control=False,
            decoding=ValueArguments(),
            interval=None,
            idle_exit=None,
            wait=0.0,
            iso=False,
            is_redacted=False,
            redact_key=None,
            on_error=on_error,
            unreadable="raise",
            reading={},
            quiet=False,
        )
        self.following = Following(arguments, sink)

    def look(self) -> tuple[list[int], str]:
        """Offsets that are shown, and what is said."""
        self._capture.readouterr()
        self.following.look([self._path])
        shown = self._capture.readouterr()
        return [json.loads(line)["offset"] for line in shown.out.splitlines()], shown.err.decode()


#: What the fixture `watch` is.
Watch = Callable[..., Watched]

"""The command line `logsegment`, also `python -m logsegment`: one module for each verb.

Files, directories and standard input go in; data comes out on stdout, everything else on stderr. Exit codes: 0 clean, 1 findings or
bad data, 2 usage or unreadable input, 3 finished but something was lost, 70 a bug of this program. This package parses no Kafka
bytes: it names sources, calls `logsegment` and writes.

click (arguments) and rich (colour, progress) are imported by the modules of this package alone, when a command runs.
"""

from __future__ import annotations

import importlib
import sys

from logsegment._early_signals import INTERRUPTED, leave_at_once, unwind


def main(arguments: list[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the words after the program's name; None for those of this process.

    Returns:
        The exit code.

    Example:
        >>> from logsegment.cli import main
        >>> main(["verify", "--quiet", "orders-0/00000000000000000000.log"])
        0
    """
    try:
        # `import logsegment.cli` alone must not import click.
        app = importlib.import_module("logsegment.cli.app")
        unwind()
        code: int = app.run(sys.argv[1:] if arguments is None else arguments)
        leave_at_once()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED

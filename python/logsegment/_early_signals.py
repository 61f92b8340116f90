"""Ctrl-C while the command line is being imported: exit code 130 without a traceback.

Imported first by the package. It does nothing unless this process is the program `logsegment` or `python -m logsegment`.
"""

import os
import signal
import sys
from itertools import pairwise

#: Exit code of a program that SIGINT has ended.
INTERRUPTED = 128 + signal.SIGINT


def _is_program() -> bool:
    words = sys.orig_argv
    script = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""
    return ("-m", "logsegment") in pairwise(words) or script.partition(".")[0] == "logsegment"


def _leave(*_signal: object) -> None:
    os._exit(INTERRUPTED)


def leave_at_once() -> None:
    """Let SIGINT end the process without unwinding it: nothing is open yet, or nothing is any more."""
    if _is_program() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        try:
            signal.signal(signal.SIGINT, _leave)
        except ValueError:
            # Only the main thread may.
            return


def unwind() -> None:
    """Let SIGINT raise KeyboardInterrupt again, so that unfinished files are removed."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


leave_at_once()

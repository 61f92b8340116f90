"""What a signal raised, told from what foreign code raised."""

from __future__ import annotations

import signal
import traceback


def is_stop(error: BaseException) -> bool:
    """Tell whether a signal raised this: then it is no fault of the code in which it came, and ends the program.

    Ctrl-C does, and so does what the program's own handlers raise, such as a SystemExit at SIGTERM. A SystemExit of a plugin does not.

    Args:
        error: as it was caught, with its traceback.

    Example:
        >>> from logsegment.plugins.stopping import is_stop
        >>> is_stop(KeyboardInterrupt()), is_stop(SystemExit(3))
        (True, False)
    """
    if isinstance(error, KeyboardInterrupt):
        return True
    handlers = {getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()} - {None}
    return any(frame.f_code in handlers for frame, _ in traceback.walk_tb(error.__traceback__))

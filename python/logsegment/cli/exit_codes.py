"""Handle the ends of a run that are not bugs: a closed pipe, Ctrl-C, a signal, bad data, an unreadable file."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import ClassVar, ParamSpec

import click

from logsegment import Finding, InternalError, RecordBatchError
from logsegment._core import ReplicaError
from logsegment._output import HINT
from logsegment.cli.messages import say
from logsegment.cli.redaction import Redactor
from logsegment.stores import StorageOptionError
from logsegment.tiered import ManifestError, SegmentKeyError

CLEAN, FOUND, UNREADABLE, LOST, BUG = 0, 1, 2, 3, 70
#: What closes an input, and leaves the others as they are.
UNREADABLES = (OSError, SegmentKeyError)
P = ParamSpec("P")
#: What to do about a bug.
REPORT = "this is a bug of logsegment: please report it at https://github.com/logsegment/logsegment/issues"


def worst(*codes: int) -> int:
    """Return the exit code of several files: 2 (not read) before 1, before 3, before 0."""
    return min(codes, key=(UNREADABLE, FOUND, LOST, CLEAN).index)


class ExitCode(BaseException):
    """The program ends here, with this exit code. No `Exception`, so that nothing on the way takes it for an error."""

    INTERRUPTED = 128 + signal.SIGINT

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class DamagedInput(Exception):
    """Bad bytes, or a batch that cannot be read here, that end a verb: with the name of the file, advice, and the exit code."""

    SKIPPING = "`--on-error skip` continues after damage, `logsegment verify` reports the lost ranges"
    #: Of a batch whose checksum is right, and whose records nobody unpacked.
    WHOLE = "the batch is not damaged; its plugin is not installed"
    #: Of a valid batch over a limit.
    LIMITED = "the batch is not damaged; `--limits NAME=VALUE` raises the limit"
    #: Of a valid batch that needs a zstd dictionary.
    DICTIONARY = "the batch is not damaged; its zstd dictionary was not supplied"
    #: Of a value that its schema does not fit.
    UNDECODED = "`--on-error skip` shows such values as null, and `--values raw` shows all values as bytes"
    UNKNOWN_SCHEMA = f"`--schemas` names the log or URL of the registry that knows it, {UNDECODED}"
    PROPOSED = "the batch is not damaged; --format v3 reads it"
    #: By the rules of batches that are not damaged.
    UNDAMAGED: ClassVar = {"S-P19": WHOLE, "S-P20": WHOLE, "COD-6": LIMITED, "COD-Z5": DICTIONARY, "MAP-3": PROPOSED}
    #: Of a file that is none, the first bytes are wrong already.
    AT_ITS_START = "its first bytes cannot be read; is this a log segment? "

    def __init__(self, name: str, error: RecordBatchError, advice: str = SKIPPING, redactor: Redactor | None = None) -> None:
        words = str(error).removeprefix(f"{error.path}: ") if redactor is None else redactor.error(error)
        super().__init__(f"{name}: {_without_place(words, name)}")
        is_framed = error.base_offset is not None or error.rule == "SWALLOWED"
        self.advice = advice if error.position != 0 or is_framed else self.AT_ITS_START + advice
        self.code = UNREADABLE if error.is_unreadable else FOUND
        if isinstance(error, InternalError):
            self.code, self.advice = BUG, REPORT
        elif is_framed and error.rule in self.UNDAMAGED:
            self.advice = self.UNDAMAGED[error.rule]
        elif error.quirks and is_framed:
            self.advice = f"the batch is not damaged; it is readable with {quirk_options(error)}"
        elif error.code == "value":
            self.advice = self.UNKNOWN_SCHEMA if error.rule == "SCH-2" else self.UNDECODED
        elif error.code == "not_a_segment":
            # The error has its own advice.
            self.advice = ""


def quirk_options(problem: Finding | RecordBatchError) -> str:
    """Return the options of the command line that make a batch readable, which needs quirks."""
    return " ".join(f"--quirk {quirk}" for quirk in problem.quirks)


def stop_on_signals() -> None:
    """Let SIGTERM and SIGHUP unwind the program, so that unfinished files are removed."""
    for name in _ENDING_SIGNALS:
        number = getattr(signal, name, None)
        with contextlib.suppress(ValueError):  # only the main thread may; an embedder keeps its own handlers
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _stop)


def handle_exit(verb: Callable[P, int]) -> Callable[P, int]:
    """Give a verb's function the endings that all verbs share. It returns its exit code, and so does what is made of it."""

    @functools.wraps(verb)
    def ended(*args: P.args, **options: P.kwargs) -> int:
        code = _code_of(lambda: verb(*args, **options))
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _forget_stdout()
        except OSError as error:
            _forget_stdout()
            say(words_of(error))
            return UNREADABLE
        return code

    return ended


def _code_of(verb: Callable[[], int]) -> int:
    try:
        return verb()
    except BrokenPipeError:
        # Whoever read our output has enough (`| head`).
        _forget_stdout()
        return CLEAN
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except DamagedInput as damaged:
        say(str(damaged))
        if damaged.advice:
            say(damaged.advice)
        return damaged.code
    except ManifestError as error:
        say(str(error))
        return FOUND
    except StorageOptionError as error:
        raise click.UsageError(str(error)) from None
    except UNREADABLES as error:
        say(words_of(error))
        return UNREADABLE
    except ImportError as missing:
        # A companion that is installed on its own.
        say(str(missing))
        return UNREADABLE


@contextlib.contextmanager
def input_errors(
    advice: str | Callable[[RecordBatchError], str] = DamagedInput.SKIPPING, redactor: Redactor | None = None, name: str = "input"
) -> Iterator[None]:
    """Raise the errors of a function as the errors of its verb.

    Args:
        advice: what to do about damage.
        redactor: hides messages about damage.
        name: stands for the file of damage whose error names none.

    Raises:
        DamagedInput: for damage, with the name of its file.
        click.UsageError: for arguments that are invalid.
    """
    try:
        yield
    except RecordBatchError as error:
        text = advice if isinstance(advice, str) else advice(error)
        raise DamagedInput(error.path or name, error, text, redactor) from error
    except (SegmentKeyError, StorageOptionError, ManifestError):
        raise
    except ReplicaError as error:
        raise click.UsageError(replica_text(error)) from None
    except (TypeError, ValueError) as mistake:
        raise click.UsageError(with_flags(str(mistake))) from None


def replica_text(error: ReplicaError) -> str:
    """Return the text of an error about a partition in several directories, with the option of the command line."""
    if error.asked:
        return f"--replica: {error.problem}"
    return f'{error.problem}; choose one with --replica ("longest", "first" or the path of a directory)'


#: The name of an argument of a function in the text of its error, alone or with a value.
_ARGUMENT = re.compile(r"^([a-z]+)(?=:| must| needs| cannot)|(?<=^invalid )([a-z]+)\b|\b([a-z]+(?:_[a-z]+)+)\b|\b([a-z_]+)=\"(\w+)\"")


def with_flags(text: str) -> str:
    """Return the text of an error with the options of the verb in place of the arguments of its function."""
    context = click.get_current_context(silent=True)
    flags = {param.name: max(param.opts, key=len) for param in context.command.params if isinstance(param, click.Option)} if context else {}

    def flagged(match: re.Match[str]) -> str:
        flag = flags.get(next(filter(None, match.groups()), ""))
        return match[0] if flag is None else f"{flag} {match[5]}" if match[5] else flag

    return _ARGUMENT.sub(flagged, text)


def words_of(error: Exception) -> str:
    """Return the text of an error: the file, then the problem."""
    if isinstance(error, SegmentKeyError):
        return f"{error} (--key-file ID=FILE)"
    if not isinstance(error, OSError):
        return str(error)
    reason = (error.strerror or str(error)).replace(HINT, "pass --overwrite to replace it")
    return f"{os.fsdecode(error.filename)}: {reason}" if error.filename is not None else reason


def _without_place(words: str, name: str) -> str:
    """Return a text without the name of its file or directory, which is printed before it."""
    directory, slash, _ = name.rpartition("/")
    return words.removeprefix(f"{name}: ").removeprefix(directory + slash)


def _forget_stdout() -> None:
    """Replace a closed stdout, so that Python does not write to it at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(number: int, _frame: FrameType | None) -> None:
    # Unwinding removes unfinished files; a second signal would end that halfway.
    for name in _ENDING_SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    raise ExitCode(128 + number)


_ENDING_SIGNALS = ("SIGTERM", "SIGHUP")

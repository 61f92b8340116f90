"""Run the program: its verbs, and the exit codes of errors."""

from __future__ import annotations

import io
import sys
import traceback
from difflib import get_close_matches
from importlib import import_module

import click
from click.shell_completion import get_completion_class

from logsegment import __version__
from logsegment.cli.exit_codes import BUG, REPORT, UNREADABLE, ExitCode, stop_on_signals
from logsegment.cli.help import TRACEBACK, ExamplesFirst, Verb
from logsegment.cli.messages import printable, say
from logsegment.cli.options import examples

PROGRAM = "logsegment"


#: A verb is a command of its name in a module of its name.
VERBS = (
    *("batches", "cat", "cluster", "compact", "completion", "convert", "diff", "explain", "export", "find", "follow", "join"),
    *("lz4", "plugins", "restore", "rewrite", "salvage", "schemas", "split", "stats", "txn", "verify"),
)


class Verbs(ExamplesFirst, click.Group):
    """The group of all verbs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs."""
        return sorted(VERBS)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, or fail with similar names."""
        name = args[0] if args else ""
        if name not in VERBS and not name.startswith("-") and (alike := get_close_matches(name, VERBS)):
            ctx.fail(f"No such command {name!r}. Did you mean {' or '.join(alike)}?")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of this name, or None."""
        if cmd_name == "completion":
            return completion
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"logsegment.cli.{cmd_name}"), cmd_name)
        return command


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=examples(
        "logsegment verify orders-0",
        "logsegment cat orders-0 --offset 100..200",
        "logsegment cat --help",
    ),
)
@click.version_option(__version__, "-V", "--version", prog_name=PROGRAM)
def program() -> None:
    """Read, check, repair and convert the log segments of Apache Kafka, without a broker.

    PATH is a log segment, a partition directory (TOPIC-PARTITION, with segments in the order of their offsets), a tree of such
    directories, or - for standard input. Inputs are never changed.

    Exit codes: 0 clean, 1 findings or bad data, 2 usage or unreadable input, 3 finished but something was lost,
    70 a bug of this program.
    """


@click.command(
    cls=Verb,
    short_help="Print a shell's completion script for verbs, options and values.",
    epilog=examples(
        'eval "$(logsegment completion bash)"',
        "logsegment completion zsh > ~/.zfunc/_logsegment",
        "logsegment completion fish > ~/.config/fish/completions/logsegment.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes verbs, options and values in a shell."""
    found = get_completion_class(shell)
    assert found is not None, "click completes for these shells"
    click.echo(found(program, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())


def run(arguments: list[str]) -> int:
    """Run the program with these arguments and return its exit code."""
    stop_on_signals()
    if hasattr(sys.stdout, "reconfigure"):
        # A name may have letters that the encoding of the terminal or the pipe lacks.
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stdout is None:
        say("standard output is closed")
        return UNREADABLE
    try:
        code = program.main(arguments, prog_name=PROGRAM, standalone_mode=False)
    except click.ClickException as mistake:
        _show_mistake(mistake)
        return mistake.exit_code
    except ExitCode as ended:
        return ended.code
    except (click.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as bug:
        # A panic of the core is no `Exception`.
        return _report(bug, shows_traceback=TRACEBACK in arguments)
    return code if isinstance(code, int) else 0


def _report(bug: BaseException, *, shows_traceback: bool) -> int:
    """Write one line about an unexpected exception; return the exit code of a bug."""
    if shows_traceback:
        for line in "".join(traceback.format_exception(bug)).splitlines():
            click.echo(printable(line), err=True)
    text = " ".join(str(bug).split())
    hint = "" if shows_traceback else f", with what {TRACEBACK} shows"
    say(f"{type(bug).__name__}{f': {text}' if text else ''}; {REPORT}{hint}")
    return BUG


def _show_mistake(mistake: click.ClickException) -> None:
    """Write a mistake in the command to stderr; it may name files."""
    text = io.StringIO()
    mistake.show(text)
    for line in text.getvalue().splitlines():
        click.echo(printable(line.expandtabs(4)), err=True)

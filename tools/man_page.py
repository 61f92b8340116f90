"""Write the manual page of the command line, or check that it is up to date: one page, with the help of every verb.

    python tools/man_page.py make
    python tools/man_page.py check

The page is in the wheel as share/man/man1/logsegment.1, where `man logsegment` finds it.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from logsegment.cli.app import PROGRAM, program
from logsegment.cli.help import OTHERS, grouped_options

PAGE = Path(__file__).parent.parent / "packaging/data/share/man/man1/logsegment.1"
#: click does not wrap the paragraph that follows this mark.
UNWRAPPED = "\b"
#: Characters that roff replaces by typographic ones, or reads as a command.
ROFF = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def main() -> int:
    """Write or check the page; return the exit code."""
    written = "\n".join(page()) + "\n"
    if sys.argv[1:] == ["make"]:
        PAGE.write_text(written, encoding="ascii")
        return 0
    if sys.argv[1:] != ["check"]:
        print(__doc__, file=sys.stderr)
        return 2
    if PAGE.read_text(encoding="ascii") == written:
        return 0
    print(f"{PAGE} is not the help of the command line: run `make man`", file=sys.stderr)
    return 1


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield f'.TH {PROGRAM.upper()} 1 "" "{PROGRAM}" "User Commands"'
    context = context_of(program, PROGRAM, None)
    summary, *paragraphs = paragraphs_of(program.help)
    yield from (".SH NAME", f"{PROGRAM} \\- {escaped(summary.rstrip('.'))}")
    yield from (".SH SYNOPSIS", f".B {PROGRAM}", escaped("COMMAND [OPTIONS] [ARGUMENTS]"))
    yield ".SH DESCRIPTION"
    yield from texts(paragraphs)
    yield from options_of(program, context)
    yield ".SH COMMANDS"
    yield from commands_of(program, context)
    yield ".SH EXAMPLES"
    yield from texts(paragraphs_of(program.epilog))


def commands_of(group: click.Group, above: click.Context) -> Iterator[str]:
    """Yield the sections of the commands of a group, and of their commands."""
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        assert command is not None, f"{name} is listed"
        context = context_of(command, name, above)
        usage = " ".join(command.collect_usage_pieces(context))
        yield from (f".SS {escaped(context.command_path)}", f".B {escaped(context.command_path)}", escaped(usage))
        yield from texts(paragraphs_of(command.help))
        yield from options_of(command, context)
        yield from texts(paragraphs_of(command.epilog))
        if isinstance(command, click.Group):
            yield from commands_of(command, context)


def context_of(command: click.Command, name: str, above: click.Context | None) -> click.Context:
    """Return the context in which a command has its help."""
    return command.context_class(command, info_name=name, parent=above, **command.context_settings)


def options_of(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the options of a command by heading."""
    for heading, options in grouped_options(command, context).items():
        if heading != OTHERS:
            yield from (".PP", f".I {escaped(heading)}:")
        for names, text in options:
            yield from (".TP", f".B {escaped(names)}", escaped(re.sub(r"\s+", " ", text)))


def paragraphs_of(text: str | None) -> list[str]:
    """Return the paragraphs of a help text."""
    return [part for part in inspect.cleandoc(text or "").split("\n\n") if part]


def texts(paragraphs: list[str]) -> Iterator[str]:
    """Yield paragraphs; those that click does not wrap keep their lines."""
    for text in paragraphs:
        lines = text.splitlines()
        if lines[0] == UNWRAPPED:
            yield from (".PP", ".nf", *map(escaped, lines[1:]), ".fi")
        else:
            yield from (".PP", escaped(" ".join(lines)))


def escaped(text: str) -> str:
    """Return text as roff: the characters are those that a shell reads, and no line begins with a macro."""
    roff = "".join(ROFF.get(char, char) for char in text)
    return f"\\&{roff}" if roff.startswith(".") else roff


if __name__ == "__main__":
    sys.exit(main())

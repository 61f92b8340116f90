"""The help of a verb of the command line in Markdown, for its page of the site."""

from __future__ import annotations

from collections.abc import Iterator

import click
from man_page import UNWRAPPED, context_of, paragraphs_of

from logsegment.cli.app import PROGRAM, program
from logsegment.cli.help import grouped_options


def verb_help(names: list[str]) -> str:
    """Return the help of a verb, such as ["cat"], or of a verb of a verb, such as ["lz4", "fix"]."""
    command: click.Command = program
    context = context_of(program, PROGRAM, None)
    for name in names:
        assert isinstance(command, click.Group), f"{command.name} has no verbs"
        found = command.get_command(context, name)
        assert found is not None, f"no verb {name}"
        command, context = found, context_of(found, name, context)
    return "\n".join(help_lines(command, context)).rstrip()


def help_lines(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the lines of the help: paragraphs, usage, options, examples."""
    summary, *others = paragraphs_of(command.help)
    yield from (escaped(summary), "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("```text", f"{context.command_path} {usage}", "```", "")
    yield from texts(others)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None, f"{name} is listed"
            yield f"- `{context.command_path} {name}`: {escaped(below.get_short_help_str(200))}"
        yield ""
    for heading, options in grouped_options(command, context).items():
        yield from (f"| {heading} | |", "| --- | --- |")
        for option, text in options:
            yield f"| {code(option)} | {escaped(' '.join(text.split()))} |"
        yield ""
    yield from texts(paragraphs_of(command.epilog))


def texts(paragraphs: list[str]) -> Iterator[str]:
    """Yield paragraphs; those whose lines click keeps are code."""
    for text in paragraphs:
        lines = text.splitlines()
        if lines[0] == UNWRAPPED:
            yield from ("```text", *lines[1:], "```", "")
        else:
            yield from (escaped(" ".join(lines)), "")


def code(text: str) -> str:
    """Return text as code in a cell of a table."""
    return f"<code>{escaped(text)}</code>"


def escaped(text: str) -> str:
    """Return text without characters that Markdown, HTML or a table read."""
    marks = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "*": "&#42;", "_": "&#95;", "[": "&#91;", "`": "&#96;"}
    return "".join(marks.get(char, char) for char in text)

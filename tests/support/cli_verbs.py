"""The verbs of the command line, with those of a verb: names and commands."""

from __future__ import annotations

from collections.abc import Iterator

import click

from logsegment.cli.app import program


def verbs(group: click.Group, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*above, name), command
        if isinstance(command, click.Group):
            yield from verbs(command, (*above, name))


VERBS = dict(verbs(program))

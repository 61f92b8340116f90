"""The verbs of the program: each is imported when it is called for, so that the others cost no time to start."""

from __future__ import annotations

from importlib import import_module

import click

#: A verb is a command of its name in a module of its name.
VERBS = ("batches", "cat", "convert", "diff", "explain", "find", "follow", "lz4", "plugins", "restore", "salvage", "stats", "txn", "verify")


class Verbs(click.Group):
    """A group of the verbs that there are."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; None when there is none."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"logsegment.cli.{cmd_name}"), cmd_name)
        return command

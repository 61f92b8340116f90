"""Write help texts: a sentence, examples, details, options. Options that few users need have headings of their own."""

from __future__ import annotations

import inspect
from typing import Any

import click

#: Headings, and the options below them by the names that click gives.
GROUPS = {
    "Plugin codecs": ("registry", "bootstrap_servers", "command_config", "settings", "timeout", "allow_plugin", "replication_factor"),
    "Redaction": ("is_redacted", "redact_key"),
    "Tiered storage": ("decryption_keys", "layout"),
    "Bugs": ("traceback",),
}
#: The heading of all other options.
OTHERS = "Options"


#: Shows the traceback of a bug; `app.run` looks for it among the arguments, since a bug may be met before they are parsed.
TRACEBACK = "--traceback"


class ExamplesFirst(click.Command):
    """A command with its examples after the first sentence of its help, and with --traceback."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        text = "Show the traceback of a bug of this program (exit code 70)."
        self.params.append(click.Option([TRACEBACK], is_flag=True, expose_value=False, help=text))

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first paragraph, the examples, and the other paragraphs."""
        first, _, rest = inspect.cleandoc(self.help or "").partition("\n\n")
        for text in (first, inspect.cleandoc(self.epilog or ""), rest):
            if text:
                formatter.write_paragraph()
                with formatter.indentation():
                    formatter.write_text(text)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: the examples are not at the end."""


class Verb(ExamplesFirst):
    """A command with groups of options in its help."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each group below its heading."""
        _write_groups(self, ctx, formatter)


class VerbGroup(ExamplesFirst, click.Group):
    """A command with subcommands."""

    command_class = Verb

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each group below its heading, and the subcommands."""
        _write_groups(self, ctx, formatter)
        self.format_commands(ctx, formatter)


def _write_groups(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    for heading, options in grouped_options(command, ctx).items():
        with formatter.section(heading):
            formatter.write_dl(options)


def grouped_options(command: click.Command, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Return the options of a command as their names and help texts, by heading."""
    headings = {name: heading for heading, names in GROUPS.items() for name in names}
    found: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (OTHERS, *GROUPS)}
    for param in command.get_params(ctx):
        if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
            found[headings.get(param.name or "", OTHERS)].append(record)
    return {heading: options for heading, options in found.items() if options}

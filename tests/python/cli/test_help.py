"""`--help` of every verb: each option is below one heading."""

from __future__ import annotations

import re

import click
import pytest

from cli_process import run
from cli_verbs import VERBS
from logsegment.cli.help import GROUPS


def sections(help_text: str) -> dict[str, list[str]]:
    """Return the names of the options below each heading."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in help_text.splitlines():
        if named := re.fullmatch(r"(\w[\w ]*):", line):
            heading = named[1]
        elif heading and (named := re.match(r"  (-[-\w]+)(?:, (--[-\w]+))?", line)):
            found.setdefault(heading, []).append(named[2] or named[1])
    return found


@pytest.mark.parametrize("names", VERBS, ids=" ".join)
def test_each_option_is_below_one_heading(names: tuple[str, ...]):
    command = VERBS[names]
    done = run(*names, "--help")
    found = sections(done.text)
    options = [
        param for param in command.get_params(click.Context(command, help_option_names=["--help"])) if isinstance(param, click.Option)
    ]
    expected: dict[str, list[str]] = {}
    for option in options:
        heading = next((heading for heading, members in GROUPS.items() if option.name in members), "Options")
        expected.setdefault(heading, []).append(max(option.opts, key=len))
    assert (done.code, {heading: sorted(names) for heading, names in found.items()}) == (
        0,
        {heading: sorted(names) for heading, names in expected.items()},
    )


def test_groups_have_options_of_verbs():
    names = {param.name for command in VERBS.values() for param in command.params}
    assert {name for members in GROUPS.values() for name in members} <= names
    assert [*sections(run("cat", "--help").text)] == ["Options", *GROUPS]

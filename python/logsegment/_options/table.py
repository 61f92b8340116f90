"""The form of an option: dataclasses declare options as annotated fields, and each API makes its own from them.

    format: Annotated[Format, Option("Read this format.", cli="--format", spark="format")] = "auto"

The field has the name, the type and the default. `Option` has a line of help and the names outside of Python. The command line makes a
click option of it, Spark an option with its parser, and the site the rows of its tables.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class Option:
    """Help and names of an option in the APIs. The field that declares it has its name in Python, its type and its default.

    Attributes:
        help: what it does, in a line that begins with a verb.
        cli: its names on the command line, with the name of its value: "-o --output PATH"; None if no verb has it.
        spark: its name in Spark; None if Spark does not have it.
        default: the default in words, if the value does not say enough: "an error".
        page: a page of docs/reference, or a part of it, that has more about it.
    """

    help: str
    cli: str | None = None
    spark: str | None = None
    default: str | None = None
    page: str | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """The names on the command line alone."""
        return tuple(word for word in (self.cli or "").split(" ") if word.startswith("-"))

    @property
    def value_name(self) -> str | None:
        """The name of the value on the command line, if it is not that of its type."""
        return " ".join(word for word in (self.cli or "").split(" ") if not word.startswith("-")) or None


@dataclass(frozen=True, slots=True)
class DeclaredOption:
    """An option as a dataclass declares it.

    Attributes:
        name: in Python.
        type: of its values.
        default: its value if it is not given; `dataclasses.MISSING` if it must be.
        shown: what the APIs show of it.
    """

    name: str
    type: Any
    default: Any
    shown: Option


@cache
def declared(group: type) -> dict[str, DeclaredOption]:
    """Return the options that a dataclass declares, by their names in Python.

    A field may also name the dataclass that declares its option, with a type and a default of its own:
    `on_error: Annotated[OnError, ReadOptions]`.
    """
    hints = get_type_hints(group, include_extras=True)
    found = {}
    for field in fields(group):
        if get_origin(hints[field.name]) is not Annotated:
            continue
        kind, *notes = get_args(hints[field.name])
        for note in notes:
            if isinstance(note, Option):
                found[field.name] = DeclaredOption(field.name, kind, field.default, note)
            elif isinstance(note, type) and field.name in declared(note):
                above = declared(note)[field.name]
                found[field.name] = replace(above, type=kind, default=above.default if field.default is MISSING else field.default)
    return found

"""Parameters of verbs, made from dataclasses: each field is an option, an argument, or a group of them.

    html: Annotated[str | None, VerbOption("Write an HTML page with plots.", "--html FILE")] = None
    isolation: Annotated[Isolation, ReadOptions]
    partitions: PartitionOptions

`html` is an option of this verb. `isolation` is the option that `ReadOptions` declares for all APIs, with its help, flag and default.
`partitions` has all options that `PartitionOptions` declares.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import click

from logsegment._options import DeclaredOption, Option, declared
from logsegment.cli.value_types import PARSING, Parsing

A = TypeVar("A")
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class VerbOption(Option):
    """An option of verbs alone.

    Attributes:
        kind: the type of its values for click; None for the type of the field.
        is_eager: its value is parsed before those of other options.
    """

    kind: click.ParamType | None = None  # type: ignore[type-arg]
    is_eager: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a verb by its place.

    Attributes:
        metavar: its name in help texts.
        kind: the type of its values for click.
        is_many: any number of values.
        is_optional: it may be left out; `change` may refuse that.
        change: makes the value of the field from what was typed.
    """

    metavar: str
    kind: Any = None
    is_many: bool = False
    is_optional: bool = False
    change: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """A field whose value is made from a group of options.

    Attributes:
        group: the dataclass of the options.
        value: makes the value of the field from an object of the group.
    """

    group: type
    value: Callable[[Any], Any]


def bind_args(kind: type[A]) -> Callable[[Callable[[A], int]], Callable[..., int]]:
    """Call a verb with one object of its arguments, which click parses.

    Args:
        kind: the dataclass of the arguments.
    """
    decorators = list(decorators_of(kind))

    def adapted(verb: Callable[[A], int]) -> Callable[..., int]:
        @functools.wraps(verb)
        def called(**values: Any) -> int:
            return verb(built(kind, values))

        command: Callable[..., int] = called
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return adapted


def decorators_of(group: type) -> Iterator[Decorator]:
    """Yield what adds each parameter of a group to a command."""
    options = declared(group)
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        found, argument = _group_in(hints[field.name]), _note(hints[field.name], Argument)
        if found is not None:
            yield from decorators_of(found)
        elif argument is not None:
            yield _argument(field.name, argument)
        elif field.name in options:
            yield _option(options[field.name])


def built(group: type[A], values: Mapping[str, Any]) -> A:
    """Return an object of a group from the values of all parameters."""
    hints = get_type_hints(group, include_extras=True)
    own = {}
    for field in fields(group):  # type: ignore[arg-type]
        made = _note(hints[field.name], Made)
        found = _group_in(hints[field.name])
        if made is not None:
            own[field.name] = made.value(built(made.group, values))
        elif found is not None:
            own[field.name] = built(found, values)
        elif field.name in values:
            own[field.name] = values[field.name]
    try:
        return group(**own)
    except click.UsageError as error:
        error.ctx = error.ctx or click.get_current_context(silent=True)
        raise


def _group_in(hint: Any) -> type | None:
    """Return the group that a field has instead of a parameter."""
    if (made := _note(hint, Made)) is not None:
        return made.group
    return hint if isinstance(hint, type) and is_dataclass(hint) and declared(hint) else None


def _note(hint: Any, kind: type[A]) -> A | None:
    notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((note for note in notes if isinstance(note, kind)), None)


def _argument(name: str, argument: Argument) -> Decorator:
    return click.argument(
        name,
        metavar=argument.metavar,
        type=argument.kind,
        nargs=-1 if argument.is_many else 1,
        required=not argument.is_optional,
        callback=_callback(argument.change),
    )


def _option(option: DeclaredOption) -> Decorator:
    """Return what adds an option to a command."""
    shown = option.shown
    parsing = Parsing(shown.kind, is_eager=shown.is_eager) if isinstance(shown, VerbOption) else PARSING.get(option.name, Parsing())
    kind, is_many = _kind(option.type)
    is_many |= parsing.is_many
    settings: dict[str, Any] = {"help": shown.help, "is_eager": parsing.is_eager, "callback": _callback(parsing.change)}
    if kind is bool or parsing.is_flag:
        return click.option(*shown.flags, option.name, is_flag=True, **settings)
    settings |= {"type": parsing.kind or kind, "metavar": shown.value_name, "multiple": is_many}
    if option.default is MISSING:
        settings["required"] = not (is_many or NoneType in get_args(option.type))
    elif not is_many:
        settings["default"] = option.default
    if shown.default is not None:
        settings["help"] += f"  [default: {shown.default}]"
    else:
        settings["show_default"] = isinstance(option.default, str | int | float)
    return click.option(*shown.flags, option.name, **settings)


def _kind(annotation: Any) -> tuple[Any, bool]:
    """Return the type of an option for click by its annotation, and whether it has several values."""
    members = [member for member in get_args(annotation) if member is not NoneType]
    if get_origin(annotation) is Literal:
        return click.Choice(get_args(annotation)), False
    if get_origin(annotation) is tuple:
        return _kind(members[0])[0], True
    if get_origin(annotation) in (Union, UnionType) and len(members) == 1:
        return _kind(members[0])
    return (annotation if annotation in (bool, int, float) else str), False


def _callback(change: Callable[[Any], Any] | None) -> Callable[[click.Context, click.Parameter, Any], Any] | None:
    """Return what click calls with a value that it parsed; a ValueError is a mistake in the command."""
    if change is None:
        return None

    def changed(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        try:
            return change(value)
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, param) from None

    return changed

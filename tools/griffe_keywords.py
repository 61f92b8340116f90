"""A griffe extension for the site: docstrings and signatures as readers of the site need them.

`**options: Unpack[Keywords]` is replaced by the options, with their defaults and descriptions: in the code an option is documented once, by
the function that spells it out; on the site each function shows all of its options. griffe's own extension leaves out defaults and
descriptions. A section `Example` becomes `Examples`, which griffe shows as code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from griffe import (
    Class,
    Docstring,
    DocstringParameter,
    DocstringSectionParameters,
    Extension,
    Function,
    Module,
    Object,
    Parameter,
    ParameterKind,
)

#: Each class of keywords, with the function that documents the options and has their defaults.
DOCUMENTED_BY = {
    "EntryKeywords": "_decode.decode",
    "SkippingKeywords": "_decode.decode",
    "ReadKeywords": "_decode.decode",
    "ArrayKeywords": "_decode.decode",
    "EncodeKeywords": "_encode.encode",
}


#: Modules whose functions share options with a function that is not `decode`.
SHARED = {"_convert": "_convert.convert", "_encode": "_encode.encode"}


@dataclass(frozen=True)
class Option:
    """An option as a function shows it."""

    name: str
    annotation: Any
    default: str
    description: str


class ExpandKeywords(Extension):
    """Expand keywords in all functions of a package."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Expand keywords once the package is loaded."""
        if pkg.name != "logsegment":
            return
        shown = list(public_objects(pkg))
        for documented in shown:
            if documented.docstring:
                documented.docstring.value = re.sub(r"^Example:$", "Examples:", documented.docstring.value, flags=re.MULTILINE)
        options = {name: list(options_of(pkg, name)) for name in DOCUMENTED_BY}
        shared = {name: described(pkg[name]) for name in ("_decode.decode", "_encode.encode", "_convert.convert")}
        for function in shown:
            if isinstance(function, Function):
                expand(function, options)
                document(function, shared[SHARED.get(function.module.name, "_decode.decode")])


def public_objects(package: Module) -> Iterator[Object]:
    """Yield what the package and its public modules export, with the members of classes."""
    for module in (package, *(module for module in package.modules.values() if not module.name.startswith("_"))):
        for name in module.exports or ():
            member = module[str(name)]
            found = member.final_target if member.is_alias else member
            if not isinstance(found, Module):
                yield from objects_in(found)


def objects_in(owner: Module | Class) -> Iterator[Object]:
    """Yield a module or class and all that is defined in it, without what it imports."""
    yield owner
    for member in owner.members.values():
        if isinstance(member, Module | Class):
            yield from objects_in(member)
        elif isinstance(member, Object):
            yield member


def options_of(package: Module, keywords: str) -> Iterator[Option]:
    """Yield the options of a class of keywords, in the order in which they are documented."""
    function = package[DOCUMENTED_BY[keywords]]
    members = members_of(package["_options.keywords"], keywords)
    for name, description in described(function).items():
        if name in members:
            yield Option(name, members[name].annotation, str(function.parameters[name].default), description)


def members_of(module: Object, keywords: str) -> dict[str, Any]:
    """Return the options of a class of keywords with those of its bases."""
    bases = [name for name in map(str, module[keywords].bases) if name in DOCUMENTED_BY]
    own = module[keywords].members
    return {name: member for base in bases for name, member in members_of(module, base).items()} | own


def described(function: Function) -> dict[str, str]:
    """Return the descriptions of a function's arguments."""
    sections = function.docstring.parse("google") if function.docstring else []
    return {
        parameter.name: parameter.description for section in sections if section.kind.value == "parameters" for parameter in section.value
    }


def expand(function: Function, options: dict[str, list[Option]]) -> None:
    """Replace the keywords of a function by their options, in its signature and in its table of parameters."""
    starred = next((parameter for parameter in function.parameters if parameter.kind is ParameterKind.var_keyword), None)
    found = next((name for name in options if starred and f"Unpack[{name}]" in str(starred.annotation)), None)
    if starred is None or found is None:
        return
    sections = (function.docstring or Docstring("", parent=function)).parsed
    shown = next((section for section in sections if isinstance(section, DocstringSectionParameters)), None)
    if shown is not None:
        shown.value[:] = [parameter for parameter in shown.value if parameter.name.lstrip("*") != starred.name]
    del function.parameters[starred.name]
    for option in options[found]:
        if option.name in {parameter.name for parameter in function.parameters}:
            continue
        values = {"annotation": option.annotation, "name": option.name}
        function.parameters.add(Parameter(kind=ParameterKind.keyword_only, default=option.default, **values))
        if shown is not None:
            shown.value.append(DocstringParameter(description=option.description, value=option.default, **values))


def document(function: Function, shared: dict[str, str]) -> None:
    """Add the arguments that a docstring leaves to the function that documents them."""
    sections = function.docstring.parsed if function.docstring else []
    shown = next((section for section in sections if isinstance(section, DocstringSectionParameters)), None)
    if shown is None:
        return
    named = {parameter.name.lstrip("*") for parameter in shown.value}
    for parameter in function.parameters:
        if parameter.name in shared and parameter.name not in named:
            values = {"name": parameter.name, "annotation": parameter.annotation, "value": str(parameter.default)}
            shown.value.append(DocstringParameter(description=shared[parameter.name], **values))

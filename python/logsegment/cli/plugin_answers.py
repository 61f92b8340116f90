"""Plugins to register, asked for at a terminal. Questions stand on stderr."""

from __future__ import annotations

from functools import partial

import click

from logsegment.cli.messages import say
from logsegment.plugins import Catalog, Entry, Plugin
from logsegment.plugins.rules import alias_error, is_language


def ask_plugins(catalog: Catalog) -> list[Plugin]:
    """Ask for plugins until there are no more. What is registered already is offered as the answer."""
    asked = [_plugin(catalog)]
    while click.confirm("Another plugin?", err=True):
        asked.append(_plugin(catalog))
    return asked


def _plugin(catalog: Catalog) -> Plugin:
    alias = _asked("Alias (what `compression` is set to)", alias_error)
    there = catalog.of(alias)
    if there:
        say(f"{alias} is registered with id {next(iter(there.values())).plugin_id} for {', '.join(there)}; this is an update")
    version = _asked("Version", default=next((entry.version for entry in there.values()), "v1.0"))
    class_names = {language: _class(language, there) for language in dict.fromkeys(("java", *there))}
    while language := _language(class_names):
        class_names[language] = _class(language, there)
    return Plugin(alias, class_names, version)


def _class(language: str, there: dict[str, Entry]) -> str:
    form = "package.module:Class" if language == "python" else "its class" if language != "java" else "package.Class"
    default = there[language].class_name if language in there else None
    answer = _asked(f"Class for {language} ({form})", partial(_class_fault, language), default)
    return answer.removeprefix(f"{language}=").strip()


def _class_fault(language: str, answer: str) -> str | None:
    """Return what is wrong with a class name. `LANGUAGE=` before it is ignored if it names the language that was asked for."""
    named, equals, name = answer.partition("=")
    if equals and named == language:
        return None if name.strip() else f"the class is missing after {named}="
    return f"answer with the class for {language}, not for {named}" if equals and is_language(named) else None


def _language(named: dict[str, str]) -> str | None:
    text = click.prompt("Another language, such as python (empty: no more)", default="", show_default=False, err=True).strip()
    if text in named:
        say(f"{text} has its class")
        return _language(named)
    if text and not is_language(text):
        say(f"{text!r} is no name of a language: lower-case letters, digits, '.', '_' and '-'")
        return _language(named)
    return text or None


def _asked(question: str, fault: object = None, default: str | None = None) -> str:
    while True:
        answer = str(click.prompt(question, default=default, err=True)).strip()
        told = fault(answer) if callable(fault) and answer else None
        if answer and not told:
            try:
                answer.encode()
            except UnicodeEncodeError:
                told = "that is not UTF-8"
            else:
                return answer
        say(told or "an answer is needed")

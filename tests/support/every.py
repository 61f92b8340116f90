"""One test over many cases: pytest takes longer to hand ten thousand tests to its workers than to run them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def every(name: str, cases: Iterable[Any], *, named: Callable[[Any], str] = str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator: the test runs with each of the cases as its argument `name`, also after one failed, and names those that did.

    Fixtures are made once for all cases. For cases that may be skipped, or need fixtures of their own, use `pytest.mark.parametrize`.
    """
    cases = list(cases)
    assert cases, f"no case for {name}"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures: list[Exception] = []
            for case in cases:
                try:
                    test(**{name: case}, **fixtures)
                except Exception as error:
                    error.add_note(f"{name}: {named(case)}")
                    failures.append(error)
            if failures:
                failed = ", ".join(error.__notes__[-1].partition(": ")[2] for error in failures[:20])
                raise ExceptionGroup(f"{len(failures)} of {len(cases)} cases failed: {failed}", failures)

        signature = inspect.signature(test)
        others = [parameter for parameter in signature.parameters.values() if parameter.name != name]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return decorate

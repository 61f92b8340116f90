"""Parameters of which `make check` takes the first and `make test` takes all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_after(number: int, values: Iterable[Any]) -> list[Any]:
    """Return the values as parameters of a test; those after the first ones are marked slow."""
    return [value if place < number else pytest.param(value, marks=pytest.mark.slow) for place, value in enumerate(values)]

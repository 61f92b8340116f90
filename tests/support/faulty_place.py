"""Places of which some methods are replaced, in one module."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from logsegment._core import Place


def replace_methods(monkeypatch: pytest.MonkeyPatch, module: ModuleType, **methods: Callable[..., object]) -> None:
    """Replace methods of the places that a module makes. Each gets the real place first."""

    class Faulty:
        def __init__(self, *given: Any) -> None:
            self._place = Place(*given)

        def __getattr__(self, name: str) -> Any:
            return partial(methods[name], self._place) if name in methods else getattr(self._place, name)

    monkeypatch.setattr(module, "Place", Faulty)

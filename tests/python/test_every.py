"""One test over many cases: it tries all of them and names those that failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from every import every

tried: list[int] = []


@every("number", [1, 2, 3], named=lambda number: f"case {number}")
def odd(number: int, offset: int) -> None:
    tried.append(number)
    assert (number + offset) % 2 == 1


def test_all_cases_are_tried_and_failures_have_their_names():
    tried.clear()
    with pytest.raises(ExceptionGroup, match=r"^1 of 3 cases failed: case 2$") as raised:
        odd(offset=0)
    assert tried == [1, 2, 3]
    [failure] = raised.value.exceptions
    assert failure.__notes__ == ["number: case 2"]
    with pytest.raises(ExceptionGroup, match="2 of 3 cases failed: case 1, case 3"):
        odd(offset=1)


def test_no_case_is_an_error():
    with pytest.raises(AssertionError, match="no case for number"):
        every("number", [])


@every("name", ["a", "b"])
@pytest.mark.parametrize("size", [1, 2])
def test_fixtures_and_parameters_stay(name: str, size: int, tmp_path: Path):
    path = tmp_path / name
    assert not path.exists(), "the directory is that of one test"
    path.write_bytes(bytes(size))
    assert path.stat().st_size == size

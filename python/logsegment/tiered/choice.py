"""Which of several uploads of the same offsets is read, and how far (TS-44): spans of offsets go in, what is not read of them comes out.

A leader that fails, and an upload that is tried again, leave several uploads of the same records. A leader's term and an offset name a
record: a log is what its leaders wrote. So each offset has the term that the checkpoint of the latest leader tells, whatever has another
one there was cut off in the cluster, and of what has the same any upload is as good. As in Kafka (`RemoteLogMetadataCache`), the one that
begins last is read where several hold an offset, so that a segment ends where the next one begins.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

#: First offsets of terms, and the terms.
Terms = Sequence[tuple[int, int]]
Epochs = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Span:
    """The offsets of an upload, first and last, the terms of their leaders by first offset, and when it was made."""

    start: int
    end: int
    terms: tuple[tuple[int, int], ...] = ()
    written: int = -1


class LeftOut(NamedTuple):
    """Why something of an upload is not read, and for which other one."""

    state: Literal["duplicate", "superseded"]
    other: str


class Cut(NamedTuple):
    """From which offset on an upload is not read, and why."""

    offset: int
    why: LeftOut


@dataclass(slots=True)
class Choice:
    """What is not read.

    Attributes:
        left_out: whole uploads.
        cuts: the ends of uploads.
        undecided: uploads that overlap with the one named behind them, and nothing tells which one counts.
    """

    left_out: dict[str, LeftOut] = field(default_factory=dict)
    cuts: dict[str, Cut] = field(default_factory=dict)
    undecided: dict[str, str] = field(default_factory=dict)


def chosen(spans: Mapping[str, Span], epochs_of: Callable[[str], Epochs]) -> Choice:
    """Choose among the uploads of a partition.

    Args:
        spans: of all finished uploads whose offsets are known, by name.
        epochs_of: epochs and first offsets in the checkpoint of an upload; asked only where the leaders of uploads that overlap differ.
    """
    order = sorted(spans, key=lambda name: (spans[name].start, -spans[name].end, -spans[name].written, name))
    overlaps = list(_overlapping(order, spans))
    choice = Choice()
    if not overlaps:
        return choice
    if any(_terms(spans[one], spans[other]) != _terms(spans[other], spans[one]) for one, other in overlaps):
        _cut_superseded(choice, {name for pair in overlaps for name in pair}, spans, epochs_of)
    _cut_repeated(choice, order, spans)
    return choice


def overlapping(spans: Mapping[str, Span]) -> set[str]:
    """The names of the uploads that have offsets in common with others."""
    return {name for pair in _overlapping(sorted(spans, key=lambda name: spans[name].start), spans) for name in pair}


def _overlapping(order: list[str], spans: Mapping[str, Span]) -> Iterator[tuple[str, str]]:
    """Each upload with those before it that reach into it."""
    reaching: list[str] = []
    for name in order:
        reaching = [other for other in reaching if spans[other].end >= spans[name].start]
        yield from ((other, name) for other in reaching)
        reaching.append(name)


def _cut_superseded(choice: Choice, names: set[str], spans: Mapping[str, Span], epochs_of: Callable[[str], Epochs]) -> None:
    """Cut off what is not of the latest leader's log."""
    # A leader that fell behind may have written further than the one after it: the term counts before the offset.
    newest = max(spans, key=lambda name: (max((term for _, term in spans[name].terms), default=-1), spans[name].end, spans[name].written))
    # Of its own offsets the upload tells the terms as well.
    chain = sorted((first, term) for term, first in epochs_of(newest)) or list(spans[newest].terms)
    for name in sorted(names):
        offset = _first_foreign(spans[name], chain)
        if offset is None:
            continue
        why = LeftOut("superseded", newest)
        if offset <= spans[name].start:
            choice.left_out[name] = why
        else:
            choice.cuts[name] = Cut(offset, why)


def _first_foreign(span: Span, chain: Terms) -> int | None:
    """The first offset with another term than the chain has there. In front of the chain, where a log was cut, every term is believed."""
    if not chain:
        return None
    borders = sorted({span.start, *(first for first, _ in [*span.terms, *chain] if span.start < first <= span.end)})
    known = ((at, _term_at(span.terms, at)) for at in borders if at >= chain[0][0])
    return next((at for at, term in known if term is not None and term != _term_at(chain, at)), None)


def _cut_repeated(choice: Choice, order: list[str], spans: Mapping[str, Span]) -> None:
    """Leave out what another one holds as well, and end each where the next one begins."""

    def end(name: str) -> int:
        return choice.cuts[name].offset - 1 if name in choice.cuts else spans[name].end

    rest = [name for name in order if name not in choice.left_out]
    # Of two that end together the whole one is read, not the one that goes on with what is cut off.
    rest.sort(key=lambda name: (spans[name].start, -end(name), name in choice.cuts, -spans[name].written, name))
    last: str | None = None
    for name in rest:
        if last is None or end(last) < spans[name].start:
            last = name
            continue
        if not _are_same(spans[last], spans[name], min(end(last), end(name))):
            choice.undecided[name] = last
        elif end(name) <= end(last):
            choice.left_out[name] = choice.cuts.pop(name).why if name in choice.cuts else LeftOut("duplicate", last)
            continue
        else:
            choice.cuts[last] = Cut(spans[name].start, LeftOut("duplicate", name))
        last = name


def _are_same(one: Span, other: Span, end: int) -> bool:
    """The offsets that both have up to one are of the same leaders; who does not know its leaders has records of nobody."""
    both = Span(max(one.start, other.start), end)
    own, others = _terms(one, both), _terms(other, both)
    return own == others and all(term is not None for _, term in own)


def _terms(span: Span, within: Span) -> list[tuple[int, int | None]]:
    """Terms with their first offset among those that both have."""
    start, end = max(span.start, within.start), min(span.end, within.end)
    borders = [start, *(first for first, _ in span.terms if start < first <= end)]
    return [(at, _term_at(span.terms, at)) for at in borders]


def _term_at(terms: Terms, offset: int) -> int | None:
    at = bisect_right(terms, offset, key=lambda pair: pair[0])
    return terms[at - 1][1] if at else None

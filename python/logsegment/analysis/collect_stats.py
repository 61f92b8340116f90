"""Batch rows into `Stats`, one file after the other; the codecs' ratios from a sample that is unpacked."""

from __future__ import annotations

from typing import Any

from logsegment._core import BatchCounter, Finding
from logsegment._decode import batch_stream
from logsegment._inspect import Field, inspect
from logsegment._validate import UNOPENED, is_experimental
from logsegment.analysis.stats import Sampled, Stats
from logsegment.plugins.registry import is_given

#: Batches of each codec that are unpacked for its ratio.
SAMPLE = 32
#: Findings that are kept.
MOST_DAMAGE = 100


class Collector:
    """Counts batches, file after file. Files of one partition must come in the order of their offsets, one after the other.

    Headers are counted in Rust; here the few batches are looked into that it names.

    Args:
        is_sampling: unpack some batches of each codec for its ratio, where a source can be read twice.
    """

    def __init__(self, *, is_sampling: bool = True) -> None:
        self._counter = BatchCounter()
        self._is_sampling = is_sampling
        self._partition: object = None
        self._files = 0
        self._sampled: dict[str, Sampled] = {}
        self._markers: dict[str, int] = {}
        self._damage: list[dict[str, Any]] = []
        self._damage_counts: dict[str, int] = {}
        self._has_experimental = False

    @property
    def stats(self) -> Stats:
        """What was counted so far."""
        return Stats.of(self._counter.counts(), self._sampled, self._files, self._markers, (self._damage, self._damage_counts))

    def add(self, source: Any, name: str, partition: object, *, is_repeatable: bool, **options: Any) -> None:
        """Count the batches of one file.

        Args:
            source: as in `logsegment.batches`.
            name: how the file is called.
            partition: what tells its partition apart from others.
            is_repeatable: the source can be read twice.
            options: `format`, `codecs` and `limits` of `logsegment.batch_stream`.

        Raises:
            OSError: when the file cannot be read.
        """
        self._counter.enter(name, options.get("format") == "0.7", partition != self._partition)
        self._partition = partition
        self._files += 1
        with batch_stream(source, check_crc=False, on_error="skip", **options) as stream:
            for rows in stream:
                looks = self._counter.add(rows)
                for position, codec, is_control in looks if is_repeatable else ():
                    if is_control:
                        self._look_for_type(position, source, options)
                    elif self._is_sampling:
                        self._sample(position, codec, name, source, options)
            has_refused = False
            for finding in stream.findings:
                if finding.rule == "EXPERIMENTAL":
                    # Every file has the same to say.
                    if self._has_experimental:
                        continue
                    self._has_experimental = True
                if is_experimental(finding) and has_refused:
                    # Every batch has the same to say.
                    _add(self._damage_counts, finding.severity)
                    continue
                has_refused |= is_experimental(finding)
                self._tell(finding, name, _place(finding))

    def _look_for_type(self, position: int, source: Any, options: dict[str, Any]) -> None:
        entry = inspect(source, at=position, records=1, value_bytes=0, **options)
        kinds = [field.note for _, field in entry.walk() if field.name == "type"]
        _add(self._markers, kinds[0] if kinds else "EMPTY")

    def _sample(self, position: int, codec: str, name: str, source: Any, options: dict[str, Any]) -> None:
        """Unpack one batch for the ratio of its codec."""
        sampled = self._sampled.setdefault(codec, Sampled())
        if sampled.batches >= SAMPLE:
            return
        entry = inspect(source, at=position, records=0, value_bytes=0, **options)
        parts = {part.name: part for part in entry}
        if "unpacked" in parts and entry.ok:
            packed = next(parts[part] for part in ("records", "value", "payload") if part in parts)
            sampled.batches += 1
            sampled.packed += packed.length
            sampled.plain += parts["unpacked"].length
        elif is_given(options.get("codecs")):
            self._blame_plugin(position, name, entry)

    def _blame_plugin(self, position: int, name: str, entry: Field) -> None:
        """Tell why a plugin of the registry that was given has no ratio; other damage is for `validate`."""
        for problem in (problem for _, field in entry.walk() for problem in field.problems):
            if problem.rule in UNOPENED:
                self._tell(problem, name, {"position": position, "length": entry.length, "message": problem.message})
                return

    def _tell(self, found: Any, name: str, place: dict[str, Any]) -> None:
        _add(self._damage_counts, found.severity)
        if len(self._damage) < MOST_DAMAGE:
            self._damage.append({"severity": found.severity, "rule": found.rule, "file": name} | place)


def _place(finding: Finding) -> dict[str, Any]:
    return {"position": finding.position, "length": finding.length, "message": finding.message}


def _add(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1

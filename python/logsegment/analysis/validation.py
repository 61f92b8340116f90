"""Validate files, partitions and trees, every file past its damage: `validate`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, pairwise, takewhile
from typing import Any, Unpack

from logsegment._core import EarlierProducers, FileSource, Finding, FoundSegments, Place, RecordedLogs, SegmentKeyError, validate_findings
from logsegment._options import Depth, PartitionOptions, ReadOptions, SkippingKeywords
from logsegment._places import absolute, directory_of, redacted_uri
from logsegment._report import Report
from logsegment._storage import Keys, StorageOptions, reached_source
from logsegment._survey import UNFINISHED, DamageSummary
from logsegment._text import count
from logsegment._validate import surveyed, validate_sidecars, validated
from logsegment.inputs.input_segment import InputSegment, found_of, in_range, opened
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import Inputs, inputs_of, is_of_files
from logsegment.segment_files.discovery import WORK, Topics

#: Segments that the core may open before they are read.
MOST_AHEAD = 4
_NOTHING_READ = {"entries_read": 0, "records": 0, "bytes_read": 0, "bytes_inflated": 0}


def validate(
    source: Any,
    *,
    depth: Depth = "full",
    check_crc: bool = True,
    strict_tail: bool = False,
    topic: Topics = None,
    partition: int | None = None,
    decryption_keys: Keys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[SkippingKeywords],
) -> Report:
    """Validate everything in a source, past damage. Never raises on invalid bytes.

    Args:
        source: one source as `decode` takes it, a `Segment`, or what the command `verify` takes: the directory of a partition, a tree, a
            pattern (`orders-*`), a `Log`, or a list of these and of files. Of directories, the names and the order of segments and the
            sidecar files are validated too (rules SEG, IDX and others).
        depth: "headers" checks framing, headers and checksums, decompresses nothing and needs no plugin. "metadata" also checks offsets,
            timestamps and lengths of the records. "full" checks everything. In batches of magic 3 with the metadata first, "metadata"
            decompresses only the metadata; then only "full" finds damage in keys, values, headers and the rest of the stream.
        check_crc: verify the checksum of every entry.
        strict_tail: report a source that ends inside an entry as an error, not as an information.
        topic: validate only the partitions of this topic, or of these.
        partition: validate only partitions of this number.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects of tiered storage; see `Log`.
        observer: gets the report of each file as soon as it is validated; see `Observer`.
        options: options of entries; see `decode`. With `unreadable="skip"` a valid batch that cannot be read here is a warning.

    Returns:
        A `Report`; of several files with a report for each in `files`. At full depth the report of one file or buffer has a finding of
        severity "error" if and only if `decode` with the same options raises.

    Raises:
        OSError: if a file cannot be read.
        ValueError, TypeError: if an argument is invalid.

    Example:
        >>> import logsegment as ls
        >>> ls.validate(ls.FileSource("00000000000000000000.log")).ok
        True
        >>> report = ls.validate("payments-0")
        >>> len(report.files), report.ok, report.safe_offsets[0].first_offset
        (6, True, 0)

    Source: docs/reference/findings.md; `LogValidator` and `DumpLogSegments` in Kafka.
    """
    read = ReadOptions.of(SkippingKeywords, options, check_crc=check_crc, strict_tail=strict_tail)
    access = (storage_options, decryption_keys, layout)
    is_selected = any(option is not None for option in (topic, partition, *access[1:]))
    if not is_of_files(source, access, is_selected=is_selected):
        if is_selected:
            raise TypeError(f"topic, partition, decryption_keys and layout belong to paths, not to {type(source).__name__}")
        place = reached_source(source, storage_options)
        return validated(FileSource(place) if isinstance(source, str | os.PathLike) else place, depth, read)
    selection = topic, None if partition is None else int(partition)
    inputs = inputs_of(source, access, selection=selection, observer=observer)
    return Report.of_files(LogValidation(inputs, (depth, read), observer).reports())


class LogValidation:
    """A validation of files, directories and streams, which gives a report after the other.

    Args:
        inputs: the segments, and the findings about files that are not read.
        how: the depth, and the options of the read.
        observer: is asked about each log that cannot be read, and each directory whose other files cannot be read.

    Attributes:
        segments: the segments, those of a directory in the order of their offsets.
    """

    def __init__(self, inputs: Inputs, how: tuple[Depth, ReadOptions], observer: Observer | None = None) -> None:
        self.segments = in_range(inputs.segments, None, None)
        self._inputs = inputs
        self._how = how
        self._observer = observer or Observer()
        self._before = previous_segments(self.segments)
        self._followed = frozenset(self._before.values())
        self._surveys: dict[str, DamageSummary | None] = {}
        self._producers: dict[str, EarlierProducers] = {}
        self._recorded = RecordedLogs()

    def reports(self) -> Iterator[Report]:
        """Yield a report for each file, and then one for the other files of each directory in which something was found."""
        self._observer.planned([(segment.name, segment.size) for segment in self.segments])
        for report in self._reports():
            self._observer.done(report.path or "", report)
            yield report

    def _reports(self) -> Iterator[Report]:
        of_sidecars: list[Report] = []
        yield from self._of_logs(of_sidecars)
        yield from of_sidecars
        starts = [*self._inputs.left_out, *self._inputs.start_findings, *_log_starts(self.segments)]
        yield from chain(self._of_log_directories(), _by_directory(starts), _of_replicas(self.segments))

    def _of_logs(self, of_sidecars: list[Report]) -> Iterator[Report]:
        """Yield the reports of logs, and add those of the files next to them to `of_sidecars`."""
        number = 0
        for directory, group in groupby(self.segments, _read_in):
            segments = list(group)
            for segment in segments:
                self._observer.begin(segment.name, segment.size)
                number += 1
                try:
                    report = self._of_log(segment, self.segments[number : number + MOST_AHEAD])
                except (OSError, SegmentKeyError) as error:
                    self._fail(segment.name, error)
                else:
                    yield report
            if directory is not None:
                # The headers of the logs are kept until now.
                of_sidecars += self._of_sidecars(directory, segments)

    def _fail(self, name: str, error: OSError | SegmentKeyError) -> None:
        """Raise an error, unless the observer goes on."""
        if not self._observer.failed(name, error):
            raise error

    def _of_log(self, segment: InputSegment, following: Sequence[InputSegment]) -> Report:
        earlier = self._producers.pop(self._before.get(segment.path, ""), EarlierProducers())
        depth, options = self._how
        if segment.is_of_0_7 and options.format == "auto":
            # A file that is read front to back has no name that says so.
            options = replace(options, format="0.7", base_position=segment.base_offset)
        file = _source(segment)
        seen = self._observer.read if self._observer.wants_position else None
        with opened(_unfound(segment), seen=seen) as source:
            checked = validate_findings(
                source,
                depth,
                options,
                file=file,
                is_followed=segment.path in self._followed,
                earlier=earlier,
                recorded=None if _read_in(segment) is None else self._recorded,
                next_files=list(filter(None, map(_source, takewhile(lambda later: _read_in(later) is not None, following)))),
            )
        report = surveyed(file if segment.is_regular else source, (depth, options), checked, path=segment.name)
        if not segment.is_regular:
            # Headers are looked at a second time, which a stream does not allow.
            report.forget_survey()
        own = report.survey
        self._surveys[segment.path] = own
        self._producers[segment.path] = earlier
        if segment.file is not None and segment.file.finding is not None:
            report.findings.append(segment.file.finding)
        report.findings.extend(border_findings(self._surveys.get(self._before.get(segment.path, "")), segment, own))
        return report

    def _of_sidecars(self, directory: str, segments: list[InputSegment]) -> Iterator[Report]:
        files = [segment.file for segment in segments if segment.file]
        try:
            report = validate_sidecars(files, recorded=self._recorded)
        except SegmentKeyError:
            # The log was reported already.
            return
        except OSError as error:
            self._fail(f"{redacted_uri(directory)}: sidecar {Observer.NOT_CHECKED}", error)
            return
        if report.findings:
            yield report.of_directory(redacted_uri(directory))

    def _of_log_directories(self) -> Iterator[Report]:
        """Yield the reports of the files in log directories, which contain the directories of partitions."""
        for directory in found_of(self.segments).log_directories([absolute(path) for path in self._inputs.paths]):
            try:
                report = validate_sidecars([], [directory])
            except OSError as error:
                self._fail(f"{redacted_uri(directory)}: checkpoint {Observer.NOT_CHECKED}", error)
                continue
            if report.findings:
                yield report.of_directory(redacted_uri(directory))


def previous_segments(segments: Sequence[InputSegment]) -> dict[str, str]:
    """Return the path of the segment before each segment that follows another one in its directory."""
    ordered = sorted(
        (segment for segment in segments if segment.base_offset is not None), key=lambda segment: (segment.directory, segment.base_offset)
    )
    return {
        later.path: earlier.path
        for earlier, later in pairwise(ordered)
        if (earlier.partition is not None or earlier.is_listed)
        and (earlier.directory, earlier.partition) == (later.directory, later.partition)
    }


def border_findings(before: DamageSummary | None, segment: InputSegment, own: DamageSummary | None) -> Iterator[Finding]:
    """Yield the findings between a segment and the one before it, if both are valid there.

    Kafka uploads no segment of a compacted topic, so that offsets which are missing between two uploads are a warning. Offsets of Kafka 0.7
    are positions, which follow from the names.
    """
    if before is None or own is None or segment.is_of_0_7 or segment.base_offset is None or not before.valid or not own.valid:
        return
    is_damaged = any(place.before_offset is None or place.rule == UNFINISHED for place in before.lost)
    if is_damaged or (own.lost and own.lost[0].position == 0):
        return
    last, first = before.valid[-1].last_offset, own.valid[0].first_offset
    place = "entry@0/baseOffset", 0, 0
    if first <= last:
        yield Finding("ORD-1", "warning", f"the previous batch ends at offset {last}", *place, base_offset=first)
    elif last + 1 < segment.base_offset and Place(segment.path).uploaded_name() is not None:
        text = f"offsets {last + 1} to {segment.base_offset - 1} are missing before the segment: an upload is missing"
        yield Finding("ORD-3", "warning", text, *place, base_offset=first)
    elif last + 1 < first:
        yield Finding("ORD-3", "info", f"offsets {last + 1} to {first - 1} are missing before the batch", *place, base_offset=first)


def _read_in(segment: InputSegment) -> str | None:
    """Return the directory whose other files are read with a segment; None for a file that was named."""
    return segment.file.directory if segment.file is not None and (segment.is_listed or segment.has_sidecars) else None


def _unfound(segment: InputSegment) -> InputSegment:
    """Return a segment without the finding that it contradicts its name. Its batches are valid: the finding comes after their survey."""
    return segment if segment.file is None else replace(segment, file=segment.file.replaced(finding=None))


def _source(segment: InputSegment) -> FileSource | None:
    """Return the file of a segment; None for a stream."""
    file = _unfound(segment).file
    return None if file is None else file.source()


def _log_starts(segments: Sequence[InputSegment]) -> list[Finding]:
    """Return the findings about the log start offsets of partitions, below which readers read nothing."""
    found = found_of(segment for segment in segments if not segment.has_sidecars)
    files, findings = found.with_log_starts(PartitionOptions())
    try:
        return [*findings, *FoundSegments(files).deleted_records()]
    except (OSError, SegmentKeyError):
        # The log was reported already.
        return findings


def _by_directory(found: Sequence[Finding]) -> Iterator[Report]:
    """Yield findings about files that are not read, or not whole, by directory."""
    for (directory, rule), group in groupby(found, lambda finding: (directory_of(finding.path), WORK if finding.rule == WORK else None)):
        yield Report([*group], dict(_NOTHING_READ)).of_directory(directory, rule and "interrupted work of a broker")


def _of_replicas(segments: Sequence[InputSegment]) -> Iterator[Report]:
    """Yield the findings about partitions in several directories, all of which were validated."""
    name, findings = found_of(segments).replicas()
    if findings:
        title = f"{count(len(findings), 'partition')} in several directories"
        yield Report(findings, dict(_NOTHING_READ)).of_directory(name, title)

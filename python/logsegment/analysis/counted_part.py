"""The part of a segment that statistics count: the records from the log start offset of its partition on."""

from __future__ import annotations

from logsegment._core import ArrowBatch, FileSource, Finding, RecordBatchError, SegmentFile, SegmentLookup


def counted_part(file: SegmentFile) -> FileSource | None:
    """Return the bytes of a segment from the batch of its log start offset on; None if all of its records were deleted.

    Raises:
        OSError: if the file cannot be read.
    """
    if file.log_start is None:
        return file.source()
    segment = SegmentLookup(file)
    try:
        position, batch = segment.find_offset(file.log_start)
    except RecordBatchError:
        # Damage before the offset is no reason not to count what follows.
        return file.source(segment.valid_range(file.log_start)[0])
    return None if batch is None and position else file.source(position)


def records_below(rows: ArrowBatch, source: FileSource, log_start: int) -> int:
    """Return the number of records of the first batch of rows before an offset; 0 if the batch does not begin before it."""
    first = next(iter(rows.slice(0, 1).select(("position", "size", "baseOffset")).to_pylist()), None)
    if first is None or first["baseOffset"] is None or first["baseOffset"] >= log_start:
        return 0
    return SegmentFile(source.path).records_of_batch_before(first["position"], first["size"], log_start)


def finding_row(finding: Finding) -> dict[str, str]:
    """Return a finding about a partition by the names of `Stats.partition_findings`."""
    file = finding.path.rpartition("@")[0]
    return {"severity": finding.severity, "rule": finding.rule, "file": file, "message": finding.message}

"""The account of `split` and `join`: where every byte of the segments went."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from logsegment._core import Finding
from logsegment._text import camel_case


@dataclass(frozen=True)
class SegmentPart:
    """Bytes of an input segment, and where they are in the output.

    Attributes:
        source: the path of the input.
        position, length: the bytes in the input.
        output: the path of the output; None for bytes that are left out: those after the last whole batch, and batches below the log start
            offset of the partition.
        output_position: where the bytes are in the output.
        first_offset, last_offset: offsets of the batches; None if there are none.
        entries: their number.
        output_length: the bytes in the output, if they are others than in the input: those of the batch around the log start offset, which
            loses the records below it. None if they are the same, or there are none.
    """

    source: str
    position: int
    length: int
    output: str | None
    output_position: int
    first_offset: int | None
    last_offset: int | None
    entries: int
    output_length: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by their names in JSON."""
        return {camel_case(name): value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Arrangement:
    """The result of `split` and `join`: where every byte went.

    Attributes:
        parts: in the order of the input; of each input file they follow each other and are all of its bytes.
        sha256: of each output file, by its path.
        input_sha256: of each input file, by its path, with what is left out.
        below_log_start: records below log start offsets, which are left out.
        partition_findings: as in `Rewrite`.
    """

    parts: list[SegmentPart]
    sha256: dict[str, str]
    input_sha256: dict[str, str]
    below_log_start: int = 0
    partition_findings: list[Finding] = field(default_factory=list, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the account by the names in JSON."""
        digests = {"sha256": self.sha256, "inputSha256": self.input_sha256}
        return {"parts": [part.to_dict() for part in self.parts], **digests, "belowLogStart": self.below_log_start}

"""A segment that nobody can read, since its manifest is damaged: every read of it fails, or tells of it."""

from __future__ import annotations

from logsegment._core import Finding
from logsegment.tiered.errors import ManifestError

#: A reader looks at the header of a first batch, whatever the object has.
_LEAST_BYTES = 61


class LostFile:
    """A file of which no byte can be had.

    Args:
        error: why.
        path: of the manifest, as people may see it.
        offsets: the first offset, and the last one before the next segment; None when nobody can tell.
        stored: bytes of the object.
    """

    def __init__(self, error: ManifestError, path: str, offsets: tuple[int, int | None], stored: int) -> None:
        self._error = error
        self._path = path
        self._offsets = offsets
        self._findings: list[Finding] = []
        self.size = max(stored, _LEAST_BYTES)
        self.version = (self.size, str(error))

    def read_at(self, position: int, length: int) -> bytes:
        """None of it.

        Raises:
            ManifestError: always.
        """
        error = ManifestError(str(self._error), self._error.rule or "TS-10")
        first, last = self._offsets
        # What lost bytes are told by: all of them are.
        error.__dict__.update(position=0, length=self.size, base_offset=first, last_offset=last)
        raise error

    def read_past_damage(self, position: int, length: int) -> bytes:
        """No bytes, and a finding."""
        text = str(self._error).removeprefix(f"{self._path}: ")
        first, last = self._offsets
        offsets = f"offsets {first} to {'?' if last is None else last} are lost"
        finding = Finding(self._error.rule or "TS-10", "error", f"{offsets}: {text}", f"{self._path}@0", 0, self.size, first, last)
        self._findings = [finding]
        return b""

    def ensure_same(self) -> None:
        """It is."""

    def taken(self) -> tuple[int, int, list[Finding]]:
        """Findings since this was asked last."""
        findings, self._findings = self._findings, []
        return 0, 0, findings

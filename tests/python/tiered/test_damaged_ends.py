"""Uploads whose end is damaged: a corrupt header is not trusted, and what may be missing is reported (TS-44, TS-62)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import run
from logsegment.segment_files.discovery import is_gap
from made_logs import make_partition
from tiered_leaders import local_upload, resegmented, upload

DATA = corpus.CORPUS / "modern-4.1.0/data"
TRANSACTIONS = DATA / "transactions-multi-segment-0"
COLUMNS = ["offset", "value", "timestampMs", "producerId", "isControl"]
#: Fields of a batch of magic 2; the checksum covers the second one only.
BASE_OFFSET, LAST_OFFSET_DELTA, MAGIC = 0, 23, 16


def rows(place: Path, **options: Any) -> list[dict[str, Any]]:
    return ls.Log(place).records(columns=COLUMNS, control=True, **options).read_all().to_pylist()


def states(place: Path) -> list[str]:
    return [upload.state for upload in ls.tiered.uploads(place)]


def damage(log: Path, batch: int, field: int, mask: int) -> dict[str, Any]:
    """Flip bits in a header; give the row of its batch as it was."""
    data = bytearray(log.read_bytes())
    row: dict[str, Any] = ls.batches(bytes(data)).to_pylist()[batch]
    data[row["position"] + field] ^= mask
    log.write_bytes(data)
    return row


def without(whole: list[dict[str, Any]], batch: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in whole if not batch["baseOffset"] <= row["offset"] <= batch["lastOffset"]]


@pytest.mark.parametrize("has_index", [True, False])
def test_a_damaged_last_header_makes_no_duplicates_of_what_follows(has_index: bool, replicas: tuple[Path, Path], tmp_path: Path):
    """One bit of a lastOffsetDelta, and the first upload would hold all offsets that there are."""
    logs = local_upload(tmp_path, replicas[0], "A")
    assert len(logs) > 3
    lost = damage(logs[0], -1, LAST_OFFSET_DELTA, 0x40)
    if not has_index:
        logs[0].with_suffix(".index").unlink()
    assert states(tmp_path) == ["finished"] * len(logs)
    with pytest.raises(ls.ChecksumError):
        rows(tmp_path)
    assert rows(tmp_path, on_error="skip") == without(rows(TRANSACTIONS), lost)


def test_the_end_of_a_large_upload_without_an_index_is_found_by_headers(tmp_path: Path):
    """A damaged header of its last batch counts no more than in a small one."""
    borders = [list(range(4000)), list(range(4000, 5000))]
    make_partition(tmp_path, "orders", 0, borders, value_bytes=500, batch_bytes=20_000)
    source = tmp_path / "orders-0"
    (source / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    logs = local_upload(tmp_path / "uploads", source, "A")
    assert logs[0].stat().st_size > 1 << 20
    for log in logs:
        log.with_suffix(".index").unlink()
    assert states(tmp_path / "uploads") == ["finished", "finished"]
    assert ls.Log(tmp_path / "uploads").records(columns=[]).read_all().num_rows == 5000
    lost = damage(logs[0], -1, LAST_OFFSET_DELTA, 0x40)
    assert states(tmp_path / "uploads") == ["finished", "finished"]
    kept = ls.Log(tmp_path / "uploads").records(columns=["offset"], on_error="skip").read_all().to_pylist()
    assert [row["offset"] for row in kept] == [*range(lost["baseOffset"]), *range(lost["lastOffset"] + 1, 5000)]


def test_a_last_batch_at_a_damaged_offset_makes_no_duplicates_of_what_follows(replicas: tuple[Path, Path], tmp_path: Path):
    """No checksum covers the base offset."""
    logs = local_upload(tmp_path, replicas[0], "A")
    damage(logs[0], -1, BASE_OFFSET + 4, 0x10)
    assert states(tmp_path) == ["finished"] * len(logs)
    behind = int(logs[1].name[:20])
    assert rows(tmp_path, start_offset=behind) == rows(TRANSACTIONS, start_offset=behind)


def test_a_sound_upload_is_read_in_place_of_a_damaged_one(replicas: tuple[Path, Path], tmp_path: Path):
    """A copy that was tried again, however far the damaged one claims to reach."""
    local_upload(tmp_path, replicas[0], "A")
    again = local_upload(tmp_path, replicas[0], "B", slice(0, 1))
    damage(again[0], -1, LAST_OFFSET_DELTA, 0x40)
    assert states(tmp_path).count("duplicate") == 1
    assert [upload.state for upload in ls.tiered.uploads(tmp_path) if upload.path == str(again[0])] == ["duplicate"]
    assert rows(tmp_path) == rows(TRANSACTIONS)


@pytest.mark.parametrize("batches", [[-1], [-2, -1]])
def test_each_offset_is_read_once_where_a_header_hides_the_end_of_an_upload(
    batches: list[int], replicas: tuple[Path, Path], tmp_path: Path
):
    """The batch behind its last intact one has a magic that is none: no header tells where it ends."""
    logs = local_upload(tmp_path, replicas[0], "A", slice(0, 1))
    local_upload(tmp_path, replicas[1], "B", slice(1, None))
    own, base = ls.batches(logs[0].read_bytes()).to_pylist(), int(ls.Log(replicas[1])[1].base_offset or 0)
    assert own[-3]["lastOffset"] > base, "they overlap in more than what is damaged"
    data = bytearray(logs[0].read_bytes())
    for batch in batches:
        data[own[batch]["position"] + MAGIC] ^= 0x40
    logs[0].write_bytes(data)
    assert rows(tmp_path, on_error="skip") == rows(TRANSACTIONS)
    assert ls.tiered.uploads(tmp_path)[0].last_read == base - 1


def test_an_upload_without_a_valid_batch_counts_for_its_first_offset(replicas: tuple[Path, Path], tmp_path: Path):
    local_upload(tmp_path, replicas[0], "A")
    again = local_upload(tmp_path, replicas[0], "B", slice(0, 1))
    again[0].write_bytes(bytes(again[0].stat().st_size))
    assert states(tmp_path).count("duplicate") == 1
    assert rows(tmp_path) == rows(TRANSACTIONS)


def test_a_damaged_header_does_not_end_an_upload_before_its_cut(replicas: tuple[Path, Path], tmp_path: Path):
    """It claims to reach the cut: it and all intact batches behind it would be gone, and no error would tell."""
    uploader = tiered.Uploader(tmp_path)
    (first,) = upload(uploader, replicas[0], "first", 1, most=1)
    upload(uploader, replicas[1], "second", 2, skip=1)
    lost = damage(first, 1, LAST_OFFSET_DELTA, 0x40)
    cut = next(upload for upload in ls.tiered.uploads(tmp_path) if upload.path == str(first))
    assert cut.last_read is not None
    assert cut.last_read > lost["lastOffset"] + 1
    with pytest.raises(ls.ChecksumError):
        rows(tmp_path)
    assert rows(tmp_path, on_error="skip") == without(rows(TRANSACTIONS), lost)
    (told,) = [finding for finding in ls.Log(tmp_path).validate().findings if finding.severity == "error"]
    assert (told.rule, told.base_offset) == ("V2-31", lost["baseOffset"])


def test_a_damaged_manifest_with_nothing_behind_it_may_hide_offsets(replicas: tuple[Path, Path], tmp_path: Path):
    """Its first offset lies in a sound upload, and nobody can tell its last one."""
    uploader = tiered.Uploader(tmp_path)
    upload(uploader, replicas[0], "first", 1, most=1)
    second = upload(uploader, replicas[1], "second", 2, skip=1, most=2)[0]
    second.with_suffix(".rsm-manifest").write_text("{")
    (sound,) = ls.Log(tmp_path)
    end = sound.next_offset()
    assert int(second.name[:20]) < end
    log = ls.Log(tmp_path)
    (told,) = log.left_out
    assert (told.rule, told.severity, told.base_offset, told.last_offset) == ("TS-10", "warning", end, None)
    assert f"offsets from {end} on may be missing" in told.message
    stream = log.records(columns=COLUMNS, control=True)
    assert stream.read_all().to_pylist() == rows(TRANSACTIONS, end_offset=end)
    assert [(finding.rule, finding.base_offset) for finding in stream.findings] == [("TS-10", end)]
    assert log.records(columns=[], end_offset=end).findings == []
    assert [is_gap(told, *asked) for asked in ((end, None), (end + 1000, None), (0, end), (0, end + 1))] == [True, True, False, True]
    assert f"from {end} on" in run("cat", tmp_path / "prefix").err
    assert run("verify", tmp_path / "prefix", "--fail-on", "warning").code == 1


def test_a_damaged_manifest_whose_offsets_others_hold_is_no_gap(replicas: tuple[Path, Path], tmp_path: Path):
    uploader = tiered.Uploader(tmp_path)
    whole = resegmented(TRANSACTIONS, tmp_path / "whole/orders-0")
    paths = upload(uploader, replicas[0], "first", 1)
    uploader.segment(Path(ls.Log(whole)[0].path), 1000, event=3, name="again").with_suffix(".rsm-manifest").write_text("{")
    assert len(paths) > 1
    log = ls.Log(tmp_path / "prefix")
    (told,) = log.left_out
    assert (told.severity, is_gap(told)) == ("warning", False)
    assert log.records(columns=[]).findings == []

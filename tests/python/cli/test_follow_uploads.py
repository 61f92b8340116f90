"""`logsegment follow` of what is uploaded: each record once, in the order of offsets, as segments come, go, and come again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import run
from growing import GrowingLog
from logsegment import stores
from logsegment.cli.exit_codes import DamagedInput
from tiered_leaders import local_upload, upload
from watching import Watch

TRANSACTIONS = corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0"


def offsets_of(directory: Path) -> list[list[int]]:
    """Offsets of the records of each segment."""
    return [[row["offset"] for row in result.records(columns=["offset"]).read_all().to_pylist()] for result in ls.Log(directory)]


def aiven(root: Path, directory: Path, at: int, **options: Any) -> None:
    upload(tiered.Uploader(root, chunk_size=700, **options), directory, "one", 1, skip=at, most=at + 1)


def sealed(root: Path, directory: Path, at: int) -> None:
    aiven(root, directory, at, compresses=True, key_id="key1")


def local(root: Path, directory: Path, at: int) -> None:
    local_upload(root, directory, "A", slice(at, at + 1))


def pinterest(root: Path, directory: Path, at: int) -> None:
    place = root / "base-prefix/10110/test-cluster/orders-0"
    place.mkdir(parents=True, exist_ok=True)
    log = Path(ls.Log(directory)[at].path)
    for source in log.parent.glob(f"{log.stem}.*"):
        shutil.copyfile(source, place / source.name)


LAYOUTS: list[Callable[[Path, Path, int], None]] = [aiven, sealed, local, pinterest]


@pytest.mark.parametrize("is_stored", [False, True], ids=["here", "store"])
@pytest.mark.parametrize("put", LAYOUTS)
@pytest.mark.parametrize("start", [0, 17, None])
def test_records_of_new_uploads_are_shown_once_and_in_order(
    put: Any, start: int | None, is_stored: bool, replicas: tuple[Path, Path], tmp_path: Path, watch: Watch, as_bucket: Any
):
    as_bucket(tmp_path)
    parts = offsets_of(replicas[0])
    assert len(parts) > 4
    put(tmp_path, replicas[0], 0)
    watched = watch(tiered.uploaded("s3://bucket" if is_stored else tmp_path, tiered.KEYS if put is sealed else None), start)
    wanted = [offset for offset in parts[0] if start is not None and offset >= start]
    assert watched.look() == (wanted, "")
    for at, part in enumerate(parts[1:], 1):
        assert watched.look() == ([], "")
        put(tmp_path, replicas[0], at)
        assert watched.look() == ([offset for offset in part if offset >= (start or 0)], "")


def test_a_listing_that_did_not_change_opens_nothing(
    replicas: tuple[Path, Path], tmp_path: Path, watch: Watch, as_bucket: Callable[[Path], None]
):
    as_bucket(tmp_path)

    def opened() -> tuple[int, int]:
        counts = stores.io_stats()
        return counts.files_opened, counts.range_requests

    aiven(tmp_path, replicas[0], 0)
    watched = watch(tiered.uploaded("s3://bucket"))
    assert watched.look()[0]
    before = opened()
    assert watched.look() == ([], "")
    assert opened() == before
    aiven(tmp_path, replicas[0], 1)
    assert watched.look()[0]
    assert opened() > before


@pytest.mark.parametrize("put", [aiven, sealed])
def test_what_another_leader_uploads_again_is_not_shown_again(put: Any, replicas: tuple[Path, Path], tmp_path: Path, watch: Watch):
    """TS-44: the new leader has other borders of segments; its uploads begin within one that was shown."""
    for at in range(3):
        put(tmp_path, replicas[0], at)
    watched = watch(tiered.uploaded(tmp_path, tiered.KEYS))
    shown, said = watched.look()
    log = ls.Log(replicas[1])
    first = next(at for at, segment in enumerate(log) if segment.base_offset > shown[len(shown) // 2])
    assert log[first].base_offset < shown[-1]
    uploader = tiered.Uploader(tmp_path, chunk_size=700, compresses=put is sealed, key_id="key1" if put is sealed else None)
    for at in range(first, len(log)):
        upload(uploader, replicas[1], "second", 2, skip=at, most=at + 1)
        more = watched.look()
        shown, said = shown + more[0], said + more[1]
    assert (shown, said) == ([offset for part in offsets_of(TRANSACTIONS) for offset in part], "")


def test_what_the_latest_leader_cut_off_is_reported(tmp_path: Path, watch: Watch):
    """TS-44: what was shown of the older leader's term holds no more; it is shown as the new one has it."""
    older, newer = GrowingLog(tmp_path / "older"), GrowingLog(tmp_path / "newer")
    older.append(5, 5, 5)
    newer.append(5, 5)
    newer.roll()
    newer.append(3, 4, size=30, partition_leader_epoch=1)
    (newer.directory / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n1 10\n")
    uploader = tiered.Uploader(tmp_path)
    uploader.segment(older.segment, 14, epochs={"0": 0}, event=1, name="older")
    watched = watch(tmp_path / "prefix", 3)
    assert watched.look() == ([*range(3, 15)], "")
    uploader.segment(newer.segment, 16, epochs={"1": 10}, event=2, name="newer")
    shown, said = watched.look()
    assert "offsets 10 to 14 were replaced" in said
    assert shown == [*range(10, 17)]
    assert watched.look() == ([], "")


def test_what_retention_deletes_is_nothing_new(replicas: tuple[Path, Path], tmp_path: Path, watch: Watch):
    parts = offsets_of(replicas[0])
    for at in range(2):
        aiven(tmp_path, replicas[0], at)
    watched = watch(tmp_path)
    assert watched.look() == (parts[0] + parts[1], "")
    for path in sorted((tmp_path / "prefix").rglob("0*.*"))[:3]:
        path.unlink()
    assert watched.look() == ([], "")
    for path in (tmp_path / "prefix").rglob("0*.*"):
        path.unlink()
    assert watched.look() == ([], "")
    aiven(tmp_path, replicas[0], 2)
    assert watched.look() == (parts[2], "")
    for path in (tmp_path / "prefix").rglob("0*.*"):
        path.unlink()
    aiven(tmp_path, replicas[0], 4)
    shown, said = watched.look()
    assert shown == parts[4]
    assert "were deleted" in said


def test_skipped_uploads_are_reported_once(replicas: tuple[Path, Path], tmp_path: Path, watch: Watch):
    """TS-8: an upload without its manifest is being made, until a later one is there."""
    parts = offsets_of(replicas[0])
    for at in range(2):
        aiven(tmp_path, replicas[0], at)
    manifest = max((tmp_path / "prefix").rglob("*.rsm-manifest"))
    manifest.unlink()
    watched = watch(tmp_path)
    assert watched.look() == (parts[0], "")
    aiven(tmp_path, replicas[0], 2)
    shown, said = watched.look()
    assert shown == parts[2]
    assert said.count("TS-8") == 1
    assert f"offsets {parts[1][0]} to" in said
    aiven(tmp_path, replicas[0], 3)
    assert watched.look() == (parts[3], "")


@pytest.mark.parametrize("broken", ["manifest", "chunk"])
def test_damage_is_an_error_or_skipped_and_reported_once(broken: str, replicas: tuple[Path, Path], tmp_path: Path, watch: Watch):
    parts = offsets_of(replicas[0])
    for at in range(2):
        sealed(tmp_path, replicas[0], at)
    suffix = {"manifest": ".rsm-manifest", "chunk": ".log"}[broken]
    victim = min((tmp_path / "prefix").rglob(f"*{suffix}"))
    data = bytearray(victim.read_bytes())
    data[20] ^= 1
    victim.write_bytes(data if broken == "chunk" else b"{")
    place = tiered.uploaded(tmp_path, tiered.KEYS)
    with pytest.raises(Exception, match=victim.stem) as raised:
        watch(place).look()
    assert raised.type is DamagedInput
    watched = watch(place, on_error="skip")
    shown, said = watched.look()
    assert shown[-len(parts[1]) :] == parts[1]
    assert len(shown) < len(parts[0] + parts[1])
    assert "error [TS-" in said
    sealed(tmp_path, replicas[0], 2)
    assert watched.look() == (parts[2], "")
    assert watched.following.code == 1


def test_an_upload_without_its_key_is_skipped_and_reported_once(replicas: tuple[Path, Path], tmp_path: Path, watch: Watch):
    parts = offsets_of(replicas[0])
    for at, key_id in enumerate(["key2", "key1", None, "key1"]):
        aiven(tmp_path, replicas[0], at, key_id=key_id)
    place = tiered.uploaded(tmp_path, {"key2": tiered.KEYS["key2"]})
    with pytest.raises(ls.tiered.SegmentKeyError, match="key1"):
        watch(place).look()
    watched = watch(place, on_error="skip")
    shown, said = watched.look()
    assert shown == parts[0] + parts[2]
    assert said.count("is encrypted under the key 'key1'") == 2
    aiven(tmp_path, replicas[0], 4, key_id="key2")
    assert watched.look() == (parts[4], "")
    assert watched.following.code == 2


def test_the_command_line_shows_uploads_as_cat_does(tmp_path: Path):
    for name, key in tiered.KEYS.items():
        (tmp_path / name).write_bytes(key)
    keys = [word for name in tiered.KEYS for word in ("--key-file", f"{name}={tmp_path / name}")]
    for path, options in ((tiered.BUCKET, keys), (tiered.LOCAL, [])):
        done = run("follow", path, "--offset", "1300", "--columns", "topic,partition,offset", "--idle-exit", "0", *options)
        assert (done.code, done.err) == (0, "")
        assert done.out == run("cat", path, "--offset", "1300..", "--columns", "topic,partition,offset", *options).out
        assert run("follow", path, "--idle-exit", "0", *options).out == b""
    refused = run("follow", tiered.BUCKET, "--offset", "0", "--idle-exit", "0")
    assert refused.code == 2
    assert "is encrypted under the key" in refused.err
    skipping = run("follow", tiered.BUCKET, "--offset", "0", "--idle-exit", "0", "--columns", "partition", "--on-error", "skip")
    assert skipping.code == 2
    assert len({line["partition"] for line in skipping.lines}) == len(tiered.MODES) - len(tiered.ENCRYPTED)
    assert skipping.err.count("is encrypted under the key") == len(tiered.ENCRYPTED)

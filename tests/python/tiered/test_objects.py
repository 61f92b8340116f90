"""Segments of tiered storage: objects of the real code, and uploads made of a broker's log directories."""

from __future__ import annotations

import base64
import json
import pickle
import random
import shutil
from pathlib import Path

import pytest

import corpus
import logsegment as ls
import tiered_corpus as tiered
from cli_process import run
from logsegment import stores
from logsegment._core import ChunkError, ManifestError, Place, SegmentKeyError
from logsegment._places import with_options
from logsegment.segment_files.discovery import find_segments, found_in
from logsegment.tiered.keys import KeyRing

DATA = corpus.CORPUS / "modern-4.1.0/data"
TRANSACTIONS = DATA / "transactions-multi-segment-0"


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    """A copy of the objects, to be damaged."""
    return shutil.copytree(tiered.BUCKET, tmp_path / "bucket")


def log_of(mode: str, root: Path = tiered.BUCKET, **options: object) -> ls.Segment:
    (segment,) = ls.Log(root / tiered.folder(mode).relative_to(tiered.BUCKET), decryption_keys=tiered.KEYS, **options).segments
    return segment


@pytest.mark.parametrize("mode", tiered.MODES)
def test_a_thousand_ranges_are_those_of_the_original(mode: str):
    """TS-25 to TS-28, TS-42; each cell fetches the chunks that hold the range and nothing else."""
    data = tiered.original(mode)
    segment = log_of(mode)
    file = Place(segment.path).open()
    chance = random.Random(mode)
    assert (file.size, bytes(file.read_at(0, 1 << 30))) == (len(data), data)
    for _ in range(1000):
        start, length = chance.randrange(len(data) + 100), chance.randrange(3000)
        assert file.read_at(start, length) == data[start : start + length]
    Place.forget_chunks()
    file.read_at(1500, 700)
    holding = [chunk for chunk in tiered.chunks_of(segment.path) if chunk.position < 2200 and chunk.position + chunk.size > 1500]
    manifest = json.loads(Path(str(segment.path)).with_suffix(".rsm-manifest").read_text())
    is_plain = not manifest["compression"] and "encryption" not in manifest
    assert Place.forget_chunks() == (0 if is_plain else len(holding)), "chunks with other bytes are not fetched"


@pytest.mark.parametrize("mode", tiered.MODES)
def test_records_and_indexes_are_those_of_the_original(mode: str):
    segment = log_of(mode)
    assert (segment.topic, segment.partition, segment.base_offset) == ("to-pic.a", tiered.MODES.index(mode) + 1, 1234)
    assert str(segment.path) == str(tiered.folder(mode) / f"{tiered.STEM}.log")
    assert (
        segment.records().read_all().to_pylist()
        == ls.decode(tiered.original(mode), topic="to-pic.a", partition=segment.partition).read_all().to_pylist()
    )
    assert segment.records(columns=["offset"], start_offset=1300, end_offset=1310).read_all().num_rows == 10
    names = {name: f"{tiered.STEM}{name}" for name in (".index", ".timeindex", ".txnindex")}
    names |= {".snapshot": "00000000000000001434.snapshot", "leader-epoch": "leader-epoch-checkpoint"}
    there = {entry.name: entry.size for entry in Place(segment._file.directory).entries()}
    for suffix, name in names.items():
        given = Place(f"{segment._file.directory[:]}/{name}").read()
        is_missing = suffix == ".txnindex" and mode.startswith("notxn")
        assert given == (None if is_missing else tiered.original(mode, suffix)), name
        assert is_missing or suffix in (".snapshot", "leader-epoch") or there[name] == len(given)
    assert segment.leader_epochs == [(0, 1234)]


def test_local_tiered_storage():
    """TS-60, TS-61."""
    log = ls.Log(tiered.LOCAL)
    assert log.partitions == [("to-pic.a", 1)]
    assert log.records().read_all().num_rows == 200
    assert log.leader_epochs == [(0, 1234)]
    assert Place(f"{log.segments[0]._file.directory[:]}/00000000000000001434.snapshot").read() == tiered.original("plain", ".snapshot")


@pytest.fixture(params=[(False, None), (True, None), (False, "key1"), (True, "key2")], ids=["plain", "zstd", "enc", "zstdenc"])
def uploaded(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Six segments with transactions and real indexes."""
    compresses, key_id = request.param
    uploader = tiered.Uploader(tmp_path, "payments", chunk_size=3000, compresses=compresses, key_id=key_id)
    uploader.partition(TRANSACTIONS)
    return tmp_path


def test_a_prefix_reads_as_the_log_directory_did(uploaded: Path):
    here, there = ls.Log(TRANSACTIONS), ls.Log(uploaded, decryption_keys=tiered.KEYS)
    assert there.partitions == [("payments", 0)]
    columns = ["offset", "key", "value", "timestamp", "producerId"]
    for asked in (
        {},
        {"isolation": "read_committed"},
        {"start_offset": 30, "end_offset": 50},
        {"start_offset": 41, "isolation": "read_committed"},
    ):
        assert there.records(columns=columns, **asked).to_pyarrow() == here.records(columns=columns, **asked).to_pyarrow()
    assert [list(item.offset_index) for item in there] == [list(item.offset_index) for item in here]
    assert [list(item.time_index) for item in there] == [list(item.time_index) for item in here]
    assert list(there.aborted_transactions) == list(here.aborted_transactions)
    assert list(there.leader_epochs) == list(here.leader_epochs)
    for item, other in zip(there.segments[1:], here.segments[1:], strict=True):
        assert list(item.producer_snapshot) == list(other.producer_snapshot), "the state before the segment, not behind it"
    time = here.records(columns=["timestampMs"], start_offset=40).read_all().to_pylist()[0]["timestampMs"]
    assert there.offset_for_timestamp(time) == here.offset_for_timestamp(time)
    assert there.validate().ok
    assert there.batches().to_pylist() == here.batches().to_pylist()


def test_a_look_up_fetches_the_chunks_that_it_needs(tmp_path: Path):
    """The offset index leads to one chunk of many, and the counters tell what came."""
    source = max(DATA.glob("*-0/*.log"), key=lambda path: path.stat().st_size)
    segment = ls.Segment(source)
    last = segment.next_offset() - 1
    uploader = tiered.Uploader(tmp_path, chunk_size=64 << 10, compresses=True, key_id="key1")
    stored = uploader.segment(source, last)
    there = ls.Segment(stored, decryption_keys=tiered.KEYS)
    before = stores.io_stats()
    stream = there.records(columns=["offset"], start_offset=last)
    assert stream.read_all().num_rows == 1
    assert len(tiered.chunks_of(there.path)) > 8
    assert stores.io_stats() == before, "a folder of this machine is no store"
    assert 0 < Place.forget_chunks() <= 3, "of the last chunks"
    Place.forget_chunks()
    whole = there.records(columns=["offset"])
    whole.read_all()
    assert whole.io_stats.bytes_fetched == stored.stat().st_size


@pytest.mark.parametrize("mode", tiered.ENCRYPTED)
def test_a_missing_or_wrong_key_is_one_clear_error(mode: str, tmp_path: Path):
    """TS-29, TS-32."""
    folder = tiered.folder(mode)
    manifest = json.loads(next(folder.glob("*.rsm-manifest")).read_text())
    key_id = manifest["encryption"]["dataKey"].partition(":")[0]
    other = next(name for name in tiered.KEYS if name != key_id)
    with pytest.raises(SegmentKeyError, match=f"{tiered.STEM}.log is encrypted under the key '{key_id}'"):
        ls.Log(folder).records().read_all()
    with pytest.raises(SegmentKeyError, match=f"'{key_id}': the given keys are {other}"):
        ls.Log(folder, decryption_keys={other: tiered.KEYS[other]}).records().read_all()
    with pytest.raises(SegmentKeyError, match=f"'{key_id}': the given key") as raised:
        ls.Log(folder, decryption_keys={key_id: tiered.KEYS[other]}).records().read_all()
    assert pickle.loads(pickle.dumps(raised.value)).args == raised.value.args
    with pytest.raises(SegmentKeyError, match=f"the key '{key_id}' is not an RSA private key"):
        ls.Log(folder, decryption_keys={key_id: b"-----BEGIN PRIVATE KEY-----\nsecret"}).records().read_all()
    with pytest.raises(FileNotFoundError):
        ls.Log(folder, decryption_keys={key_id: tmp_path / "none.pem"}).records().read_all()


def test_keys_are_files_or_bytes_and_never_shown(tmp_path: Path):
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_der_private_key

    key = load_der_private_key(tiered.KEYS["key1"], None)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    (tmp_path / "key1.pem").write_text(pem)
    (tmp_path / "key1.der").write_bytes(tiered.KEYS["key1"])
    folder = tiered.folder("zstdenc")
    for given in (pem, pem.encode(), tiered.KEYS["key1"], tmp_path / "key1.pem", str(tmp_path / "key1.der"), f"file://{tmp_path}/key1.pem"):
        log = ls.Log(folder, decryption_keys={"key1": given})
        assert log.records(columns=["offset"]).read_all().num_rows == 200
        source = ls.FileSource(log.segments[0].path)
        texts = [
            repr(log),
            str(log.paths[0]),
            repr(log.segments[0]),
            repr(source),
            str(source.path),
            f"{log.paths[0]}",
            repr(KeyRing({"key1": given})),
        ]
        assert not [text for text in texts if tiered.leaks(text, {"key1": given}) or "keys=" in text or "key1." in text]
        assert tiered.leaks(source.path[:], {"key1": given}) == ["key1"], "it is there all the same, for whoever opens it"
        assert pickle.loads(pickle.dumps(source)) == source, "it goes to other processes whole"
        assert ls.decode(pickle.loads(pickle.dumps(source)), columns=["offset"]).read_all().num_rows == 200
    for wrong in ([1], {"": pem}, {"key1": 7}, {7: pem}):
        with pytest.raises(TypeError):
            ls.Log(folder, decryption_keys=wrong)
    uri = tiered.uploaded(with_options("s3://bucket/a", {"aws_secret_access_key": "secret12"}), {"key1": pem})
    assert (str(uri), KeyRing.of_text(Place(uri).keys).ids) == ("s3://bucket/a", ["key1"])
    assert tiered.uploaded(uri)[:] == uri[:] == tiered.uploaded(uri[:])[:]


def damage(path: Path, position: int, *, cut: bool = False) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x40
    path.write_bytes(data[:position] if cut else data)


@pytest.mark.parametrize("mode", ["enc", "zstdenc", "zstd"])
def test_damage_in_a_chunk_names_it_and_its_offsets(mode: str, bucket: Path):
    """TS-45: fatal for that chunk only; validation goes on behind it."""
    segment = log_of(mode, bucket)
    table = tiered.chunks_of(segment.path)
    damage(Path(str(segment.path)), table[5].stored_position + (14 if "enc" in mode else 2))
    Place.forget_chunks()
    with pytest.raises(ChunkError, match=r"1234-.*\.log: chunk 5 .*bytes 5000 to 5999") as raised:
        segment.records(columns=["offset"]).read_all()
    error = raised.value
    intact = ls.batches(tiered.original(mode)).to_pylist()
    lost = [row for row in intact if row["position"] < 6000 and row["position"] + row["size"] > 5000]
    assert (error.base_offset, error.last_offset) == (lost[0]["baseOffset"], lost[-1]["lastOffset"])
    assert (error.chunk, error.position, error.length, error.rule) == (5, 5000, 1000, "TS-45")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.chunk) == (ChunkError, str(error), 5)
    assert isinstance(error, ls.CorruptError)

    report = segment.validate()
    (found,) = (finding for finding in report.findings if finding.rule == "TS-45")
    assert not report.ok
    assert (found.severity, found.position, found.length, found.base_offset, found.last_offset) == (
        "error",
        lost[0]["position"],
        sum(row["size"] for row in lost),
        error.base_offset,
        error.last_offset,
    )
    assert found.message.startswith("chunk 5 ")
    assert found.path == f"{segment.path}@{found.position}"

    kept = {offset for row in intact if row not in lost for offset in range(row["baseOffset"], row["lastOffset"] + 1)}
    stream = segment.records(columns=["offset"], on_error="skip")
    assert {row["offset"] for row in stream.read_all().to_pylist()} == kept
    assert [finding.rule for finding in stream.findings].count("TS-45") == 1
    assert segment.records(columns=["offset"], end_offset=1250).read_all().num_rows == 16, "what is wanted is in front of the damage"


def given_at(segment: ls.Segment, offset: int) -> list[int]:
    table = segment.records(columns=["offset"], start_offset=offset, end_offset=offset + 1).read_all()
    return [row["offset"] for row in table.to_pylist()]


def test_an_object_that_was_cut(bucket: Path):
    """TS-18: what is before the cut can be read."""
    segment = log_of("zstdenc", bucket)
    table = tiered.chunks_of(segment.path)
    damage(Path(str(segment.path)), table[9].stored_position + 5, cut=True)
    with pytest.raises(ChunkError, match=r"chunks 9 to 12 .* are lost: the object ends at its byte") as raised:
        segment.records(columns=["offset"]).read_all()
    torn = max(ls.batches(tiered.original("zstdenc")).to_pylist(), key=lambda row: row["position"] if row["position"] < 9000 else -1)
    error = raised.value
    assert (error.chunk, error.position, error.length, error.base_offset, error.last_offset) == (9, 9000, 3612, torn["baseOffset"], 1433)
    for read in (segment.validate(), segment.records(columns=["offset"], on_error="skip", batch_size=7).read_all()):
        (found,) = (finding for finding in read.findings if finding.rule == "TS-45")
        assert (found.position, found.position + found.length) == (torn["position"], 12612), "one finding for all that it lacks"
        assert (found.base_offset, found.last_offset, found.message) == (torn["baseOffset"], 1433, str(error).partition(".log: ")[2])
    assert given_at(segment, torn["baseOffset"] - 1) == [torn["baseOffset"] - 1]
    for offset in (torn["baseOffset"], 1433):
        with pytest.raises(ChunkError, match="chunks 9 to 12"):
            given_at(segment, offset)
    Path(str(segment.path)).write_bytes(bytes(99999))
    with pytest.raises(ManifestError, match="do not belong together"):
        segment.records(columns=["offset"]).read_all()


def test_a_bad_manifest_is_reported_with_its_path(bucket: Path):
    (manifest,) = (bucket / "some/prefix" / f"to-pic.a-{tiered.TOPIC_ID}/2").glob("*.rsm-manifest")
    manifest.write_text('{"version":"2"}')
    log = ls.Log(bucket, decryption_keys=tiered.KEYS)
    assert log.partitions == [("to-pic.a", partition) for partition in range(1, 14)], "the others can be read"
    assert log.segments[0].records(columns=["offset"]).read_all().num_rows == 200
    with pytest.raises(ManifestError, match=f"{tiered.STEM}.rsm-manifest: the manifest must be of version"):
        log.records(columns=["offset"]).read_all()


def states(folder: Path) -> list[tuple[int, str]]:
    return [(upload.base_offset, upload.state) for upload in ls.tiered.uploads(folder, decryption_keys=tiered.KEYS)]


def test_an_upload_without_its_manifest_is_none(tmp_path: Path):
    """TS-8, TS-40."""
    uploader = tiered.Uploader(tmp_path)
    paths = uploader.partition(TRANSACTIONS)
    paths[2].with_suffix(".rsm-manifest").unlink()
    paths[4].unlink()
    paths[5].with_suffix(".indexes").unlink()
    assert [state for _, state in states(uploader.folder())] == [
        "finished",
        "finished",
        "unfinished",
        "finished",
        "unfinished",
        "unfinished",
    ]
    found, findings = found_in(uploader.folder())
    log = ls.Log(tmp_path)
    assert len(found) == len(log) == 3
    bases = [int(path.name[:20]) for path in paths]
    gap = f"; offsets {bases[2]} to {bases[3] - 1} are missing"
    lost = "unfinished, or being deleted: no "
    end = ls.Log(TRANSACTIONS).segments[-1].next_offset() - 1
    assert [(finding.rule, finding.severity, finding.message, finding.base_offset) for finding in findings] == [
        ("TS-8", "warning", f"unfinished, or being deleted: no .rsm-manifest{gap}", bases[2]),
        ("TS-8", "warning", f"{lost}.log; offsets {bases[4]} to {bases[5] - 1} are missing", bases[4]),
        ("TS-8", "warning", f"{lost}.indexes; offsets {bases[5]} to {end} are missing", bases[5]),
    ]
    assert [finding.path for finding in findings] == [f"{paths[at]}@0" for at in (2, 4, 5)]
    assert log.left_out == findings
    assert [finding for finding in log.validate().findings if finding.rule.startswith("TS-")] == findings
    stream = log.records(columns=["offset"])
    stream.read_all()
    assert stream.findings == findings, "a gap is told by every read across it"
    assert log.records(columns=["offset"], start_offset=bases[3], end_offset=bases[4]).findings == []
    assert log.records(columns=["offset"], end_offset=bases[2]).findings == []
    done = run("cat", tmp_path / "prefix", "--columns", "offset")
    assert (done.code, done.err.count(gap)) == (0, 1)
    done = run("verify", tmp_path / "prefix", "--json")
    assert [(line["rule"], line["severity"]) for line in done.lines if line["type"] == "finding" and line["rule"].startswith("TS-")] == [
        ("TS-8", "warning"),
        ("TS-8", "warning"),
        ("TS-8", "warning"),
    ]
    assert gap in run("verify", tmp_path / "prefix").text
    assert run("verify", tmp_path / "prefix", "--fail-on", "warning").code == 1
    for path in uploader.folder().glob("*.rsm-manifest"):
        path.unlink()
    with pytest.raises(FileNotFoundError, match=r"no \.rsm-manifest"):
        ls.Log(tmp_path)


def test_a_segment_that_was_uploaded_twice_is_read_once(tmp_path: Path):
    """TS-44: the same offsets of the same leaders are the same records; the later upload is taken."""
    uploader = tiered.Uploader(tmp_path)
    first, *_ = uploader.partition(TRANSACTIONS)
    segments = ls.Log(TRANSACTIONS).segments
    again = uploader.segment(Path(segments[0].path), segments[1].base_offset - 1, event=7, name="again")
    found = {Path(upload.path).stem: upload for upload in ls.tiered.uploads(uploader.folder())}
    assert (found[first.stem].state, found[again.stem].state) == ("duplicate", "finished")
    assert again.stem in found[first.stem].reason
    assert sorted(upload.state for upload in ls.tiered.uploads(tmp_path)) == ["duplicate"] + ["finished"] * len(segments)
    columns = ["offset", "value"]
    assert ls.Log(tmp_path).records(columns=columns).to_pyarrow() == ls.Log(TRANSACTIONS).records(columns=columns).to_pyarrow()


def test_a_duplicate_says_what_to_do_where_the_other_one_is_damaged(tmp_path: Path):
    uploader = tiered.Uploader(tmp_path, "payments")
    first = uploader.partition(TRANSACTIONS)[0]
    again = uploader.segment(
        TRANSACTIONS / f"{0:020}.log", ls.Segment(TRANSACTIONS / f"{0:020}.log").next_offset() - 1, name="again", event=1
    )
    damage(again, 50)
    (duplicate,) = (upload for upload in ls.tiered.uploads(uploader.prefix) if upload.state == "duplicate")
    assert duplicate.path == str(first)
    assert duplicate.reason == f"duplicate: {again.stem} holds the same records; if that one is damaged, pass the .log of this one"
    with pytest.raises(ls.RecordBatchError):
        ls.Log(uploader.prefix).segments[0].records().read_all()
    assert ls.Segment(first).records(columns=["offset"]).read_all().num_rows


def test_the_newest_checkpoint_decides_between_leaders(tmp_path: Path):
    """TS-44: what a leader wrote whose term no checkpoint knows is superseded."""
    place = shutil.copytree(TRANSACTIONS, tmp_path / "logs/orders-0")
    segments = ls.Log(place).segments
    (place / "leader-epoch-checkpoint").write_text(f"0\n2\n0 0\n2 {segments[1].base_offset}\n")
    uploader = tiered.Uploader(tmp_path, key_id="key1")
    bounds = [segment.base_offset for segment in segments] + [segments[-1].next_offset()]
    terms = [{"0": 0}, *({"2": bound} for bound in bounds[1:-1])]
    for file, end, epochs in zip(segments, bounds[1:], terms, strict=True):
        uploader.segment(Path(file.path), end - 1, epochs=epochs)
    lost = uploader.segment(Path(segments[1].path), bounds[2] - 1, epochs={"1": bounds[1]}, event=99, name="lost")
    found = {Path(upload.path).stem: upload.state for upload in ls.tiered.uploads(uploader.folder(), decryption_keys=tiered.KEYS)}
    assert found[lost.stem] == "superseded"
    assert list(found.values()).count("finished") == len(segments)
    columns = ["offset", "value"]
    assert (
        ls.Log(tmp_path / "prefix", decryption_keys=tiered.KEYS).records(columns=columns).to_pyarrow()
        == ls.Log(place).records(columns=columns).to_pyarrow()
    )
    undecided = uploader.segment(Path(segments[1].path), bounds[2] + 1, epochs={"2": bounds[2] + 1}, name="longer")
    with pytest.raises(FileExistsError, match="uploaded more than once"):
        ls.Log(tmp_path / "prefix", decryption_keys=tiered.KEYS)
    assert ls.Log(undecided, decryption_keys=tiered.KEYS).records(columns=["offset"]).read_all().num_rows, "named by itself it is read"


def test_objects_of_before_october_2023(tmp_path: Path):
    """TS-52: an object for each index, no `segmentIndexes`."""
    uploader = tiered.Uploader(tmp_path, key_id="key2", compresses=True)
    (log,) = uploader.partition(DATA / "codec-none-0")
    manifest_path = log.with_suffix(".rsm-manifest")
    manifest = json.loads(manifest_path.read_text())
    parts = manifest.pop("segmentIndexes")
    indexes = log.with_suffix(".indexes").read_bytes()
    for (_, part), suffix in zip(parts.items(), tiered.INDEXES, strict=True):
        if part and part["size"]:
            (log.parent / f"{log.stem}.{suffix.lstrip('.')}").write_bytes(indexes[part["position"] :][: part["size"]])
    log.with_suffix(".indexes").unlink()
    manifest_path.write_text(json.dumps(manifest))
    here, there = ls.Log(DATA / "codec-none-0"), ls.Log(tmp_path, decryption_keys=tiered.KEYS)
    assert there.records(columns=["offset", "value"]).to_pyarrow() == here.records(columns=["offset", "value"]).to_pyarrow()
    assert list(there.segments[0].offset_index) == list(here.segments[0].offset_index)
    assert list(there.leader_epochs) == list(here.leader_epochs)


def test_a_prefix_without_a_slash_takes_its_topic_from_the_manifest(tmp_path: Path):
    """TS-5."""
    uploader = tiered.Uploader(tmp_path)
    uploader.partition(DATA / "codec-none-0")
    folder = uploader.folder().parent
    folder.rename(folder.with_name(f"backup{folder.name}"))
    assert ls.Log(tmp_path).partitions == [("orders", 0)]
    assert find_segments(find_segments(tmp_path)[0].path)[0].topic == "orders"


def test_aad_and_data_key_belong_to_their_segment(bucket: Path):
    """TS-28: with the AAD of another segment no chunk opens."""
    folder = bucket / tiered.folder("enc").relative_to(tiered.BUCKET)
    (path,) = folder.glob("*.rsm-manifest")
    manifest = json.loads(path.read_text())
    manifest["encryption"]["aad"] = base64.b64encode(bytes(32)).decode()
    path.write_text(json.dumps(manifest))
    with pytest.raises(ChunkError, match=r"chunk 0 .* AES-GCM tag"):
        ls.Log(folder, decryption_keys=tiered.KEYS).records().read_all()


@pytest.mark.parametrize("mode", tiered.MODES)
def test_restore_gives_the_original_bytes(mode: str, tmp_path: Path):
    """TS-43."""
    done = ls.restore(tiered.folder(mode), tmp_path / "restored", decryption_keys=tiered.KEYS)
    name = f"to-pic.a-{tiered.MODES.index(mode) + 1}"
    assert (done.partitions, done.segments, done.left_out) == ([str(tmp_path / "restored" / name)], 1, [])
    files = {path.name: path.read_bytes() for path in (tmp_path / "restored" / name).iterdir()}
    expected = {f"00000000000000001234{suffix}": tiered.original(mode, suffix) for suffix in (".log", ".index", ".timeindex", ".txnindex")}
    if mode.startswith("notxn"):
        del expected["00000000000000001234.txnindex"]
    expected |= {"00000000000000001434.snapshot": tiered.original(mode, ".snapshot")}
    expected |= {"leader-epoch-checkpoint": tiered.original(mode, "leader-epoch")}
    expected |= {"partition.metadata": f"version: 0\ntopic_id: {tiered.TOPIC_ID}".encode()}
    assert files == expected
    assert done.bytes == sum(map(len, files.values()))


def test_restore_gives_whole_log_directories(uploaded: Path, tmp_path: Path):
    done = ls.restore(uploaded, tmp_path / "restored", decryption_keys=tiered.KEYS)
    assert (done.segments, len(done.partitions)) == (6, 1)
    there = {path.name: path.read_bytes() for path in (tmp_path / "restored/payments-0").iterdir()}
    here = {path.name: path.read_bytes() for path in TRANSACTIONS.iterdir() if path.name in there and path.name != "partition.metadata"}
    ends = {f"{end:020d}.snapshot" for end in [segment.base_offset for segment in ls.Log(TRANSACTIONS)][1:]}
    assert ends < here.keys(), "a snapshot lies behind each segment, as its uploader took it"
    assert {name: data for name, data in there.items() if data and name in here} == {name: data for name, data in here.items() if data}
    assert ls.Log(tmp_path / "restored").validate().ok


def test_restore_of_the_other_layouts(tmp_path: Path):
    """TS-60, TS-80 to TS-84."""
    ls.restore(tiered.LOCAL, tmp_path / "local")
    assert (tmp_path / "local/to-pic.a-1/00000000000000001434.snapshot").read_bytes() == tiered.original("plain", ".snapshot")
    assert (tmp_path / "local/to-pic.a-1/leader-epoch-checkpoint").read_bytes() == tiered.original("plain", "leader-epoch")
    place = tmp_path / "base/10110/cluster/payments-0"
    place.mkdir(parents=True)
    for path in TRANSACTIONS.glob("0*"):
        if path.suffix in (".log", ".index", ".timeindex"):
            shutil.copyfile(path, place / path.name)
    (place / "offset.wm").write_text("00000000000000000000")
    (place / "_metadata").write_text("{}")
    ls.restore(tmp_path / "base", tmp_path / "plain")
    assert {path.name: path.read_bytes() for path in (tmp_path / "plain/payments-0").iterdir()} == {
        path.name: path.read_bytes() for path in place.glob("0*")
    }
    assert ls.Log(tmp_path / "base").records(isolation="read_committed").read_all().num_rows == 34


def test_restore_is_whole_or_absent(bucket: Path, tmp_path: Path):
    segment = log_of("zstdenc", bucket)
    damage(Path(str(segment.path)), 50)
    with pytest.raises(ChunkError, match="chunk 0"):
        ls.restore(bucket, tmp_path / "out", decryption_keys=tiered.KEYS)
    with pytest.raises(SegmentKeyError):
        ls.restore(tiered.BUCKET, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["bucket"]
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").touch()
    with pytest.raises(FileExistsError, match="new or empty"):
        ls.restore(tiered.LOCAL, tmp_path / "full")
    with pytest.raises(ValueError, match="is one file"):
        ls.restore(tiered.folder("plain") / f"{tiered.STEM}.log", tmp_path / "out")
    uploader = tiered.Uploader(tmp_path / "twice", topic_id="AAAAAAAAAAAAAAAAAAAAAA")
    uploader.partition(DATA / "codec-none-0")
    tiered.Uploader(tmp_path / "twice").partition(DATA / "codec-none-0")
    with pytest.raises(ValueError, match="would both become orders-0"):
        ls.restore(tmp_path / "twice", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_line(bucket: Path, tmp_path: Path):
    """Verbs take --key-file; errors are one line."""
    files = []
    for name, key in tiered.KEYS.items():
        (tmp_path / name).write_bytes(key)
        files += ["--key-file", f"{name}={tmp_path / name}"]
    folder = tiered.folder("zstdenc")
    done = run("cat", folder, "--offset", "1300..1303", "--columns", "topic,partition,offset", *files)
    assert (done.code, done.lines) == (0, [{"topic": "to-pic.a", "partition": 4, "offset": offset} for offset in (1300, 1301, 1302)]), (
        done.err
    )
    assert run("verify", bucket, "--quiet", *files).code == 0
    assert len(run("batches", folder, "--json", *files).lines) == len(ls.batches(tiered.original("zstdenc")).to_pylist())
    done = run("cat", folder)
    assert (done.code, done.out) == (2, b"")
    assert done.err.count("\n") == 1
    assert "is encrypted under the key 'key1': no keys were given" in done.err
    done = run("verify", folder, "--key-file", "key1")
    assert done.code == 2
    assert "each must be ID=FILE" in done.err

    done = run("restore", bucket, tmp_path / "restored", *files)
    assert (done.code, len(list((tmp_path / "restored").iterdir()))) == (0, 13), done.err
    assert "wrote 13 segments of 13 directories" in done.err
    assert run("restore", bucket, tmp_path / "restored", *files).code == 2
    done = run("restore", bucket, tmp_path / "one", "--topic", "to-pic.a", "--partition", "4", *files)
    assert (done.code, [path.name for path in (tmp_path / "one").iterdir()]) == (0, ["to-pic.a-4"]), done.err
    assert run("restore", bucket / "none", tmp_path / "other").code == 2
    done = run("convert", folder, "--compression", "zstd", "-o", tmp_path / "converted", *files)
    assert done.code == 0, done.err
    assert ls.Log(tmp_path / "converted").partitions == [("to-pic.a", 4)]
    assert ls.Log(tmp_path / "converted").records(columns=["offset"]).read_all().num_rows == 200

    damage(Path(str(log_of("zstdenc", bucket).path)), 50)
    there = bucket / folder.relative_to(tiered.BUCKET)
    done = run("salvage", there, "-o", tmp_path / "saved", *files)
    assert done.code == 3
    assert "bytes 0 to 1,263 [TS-45]" in done.err
    assert [path.name for path in (tmp_path / "saved").glob("*/*.log")] == ["00000000000000001234.log"]
    assert (tmp_path / "saved/to-pic.a-4").is_dir()
    done = run("verify", there, *files)
    assert done.code == 1
    assert "TS-45" in done.text
    assert "chunk 0 (bytes 0 to 999 of the segment, offsets 1234 to" in done.text
    done = run("restore", there, tmp_path / "gone", *files)
    assert (done.code, (tmp_path / "gone").exists()) == (1, False)
    assert "chunk 0" in done.err
    done = run("cat", there, *files)
    assert done.code == 1
    assert done.err.count("chunk 0") == 1
    assert done.err.count(f"{tiered.STEM}.log") == 1
    keys = {name: str(tmp_path / name) for name in tiered.KEYS}
    assert tiered.leaks(done.err, keys) == tiered.leaks(done.err) == []
    assert tiered.leaks(f"cannot open {tiered.uploaded(there, keys)[:]}", keys) == [*keys], "as it would be seen"

"""A batch at other offsets than the manifest of its upload has, or out of order: no checksum covers the base offset."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import logsegment as ls
from cli_process import run
from tiered_layouts import LAST, LAYOUTS, SECOND


def rows_of(data: bytes) -> list[dict[str, int]]:
    return ls.batches(data).to_pylist()


def moved(data: bytes, number: int, base_offset: int) -> bytes:
    """The same batches, one of them at another base offset."""
    at = rows_of(data)[number]["position"]
    return data[:at] + base_offset.to_bytes(8) + data[at + 8 :]


#: By name: the number of the batch, its new base offset, the rule.
CASES = {
    "last behind the end": (-1, lambda rows: rows[-1]["baseOffset"] + 1, "TS-23"),
    "last far behind the end": (-1, lambda rows: 1 << 40, "TS-23"),
    "last before the one before": (-1, lambda rows: rows[0]["baseOffset"], "ORD-1"),
    "last before the start": (-1, lambda rows: 0, "TS-23"),
    "first before the start": (0, lambda rows: rows[0]["baseOffset"] - 1, "TS-23"),
}


#: Without a manifest, the name of the object alone has an offset: the first one.
LAYOUTS_OF_CASES = [(layout, case) for case in CASES for layout in LAYOUTS if layout == "aiven" or "behind" not in case]


@pytest.mark.parametrize(("layout", "case"), LAYOUTS_OF_CASES)
def test_a_batch_at_altered_offsets_is_damage_of_each_reader(layout: str, case: str, tmp_path: Path):
    number, base, rule = CASES[case]
    path = LAYOUTS[layout](tmp_path)[LAST]
    data = path.read_bytes()
    rows = rows_of(data)
    path.write_bytes(moved(data, number, base(rows)))
    prefix = tmp_path / "prefix"
    place = rows[number]["position"]
    with pytest.raises(ls.CorruptError) as raised:
        ls.restore(prefix, tmp_path / "restored")
    assert (raised.value.rule, raised.value.position, raised.value.base_offset) == (rule, place, base(rows))
    assert str(raised.value).startswith(f"{path}: ")
    assert not (tmp_path / "restored").exists()
    assert run("restore", prefix, tmp_path / "restored").code == 1
    done = run("restore", prefix, tmp_path / "restored", "--on-error", "skip")
    assert (done.code, f"[{rule}]" in done.err) == (3, True)
    with pytest.raises(ls.CorruptError) as read:
        ls.Log(prefix).records().read_all()
    assert (str(read.value), read.value.code) == (str(raised.value), "offsets")
    done = run("verify", prefix)
    assert (done.code, f"[{rule}]" in done.text or rule in done.text) == (1, True)


@pytest.mark.parametrize("case", CASES)
def test_a_read_that_goes_on_leaves_out_that_batch_alone(case: str, tmp_path: Path):
    number, base, rule = CASES[case]
    path = LAYOUTS["aiven"](tmp_path)[SECOND]
    data = path.read_bytes()
    rows = rows_of(data)
    path.write_bytes(moved(data, number, base(rows)))
    segment = ls.Segment(path)
    altered = rows[number]
    whole = [row["offset"] for row in ls.decode(data, columns=["offset"]).read_all().to_pylist()]
    for threads in (1, 3):
        stream = segment.records(columns=["offset"], on_error="skip", threads=threads)
        found = [row["offset"] for row in stream.read_all().to_pylist()]
        assert found == [offset for offset in whole if not altered["baseOffset"] <= offset <= altered["lastOffset"]]
    (finding,) = [finding for finding in segment.records(on_error="skip").read_all().findings if finding.severity == "error"]
    assert (finding.rule, finding.position, finding.length) == (rule, altered["position"], altered["size"])
    (error,) = [finding for finding in segment.validate().findings if finding.severity == "error"]
    assert (error.rule, error.position, error.message) == (rule, finding.position, finding.message)
    with pytest.raises(ls.CorruptError):
        ls.convert(ls.FileSource(segment.path), to="v2", compression="zstd")


def test_an_altered_batch_takes_no_others_along(tmp_path: Path):
    """A batch in the midst that claims the offsets of the last one: the next one is left out, those after it are read."""
    path = LAYOUTS["aiven"](tmp_path)[SECOND]
    data = path.read_bytes()
    rows = rows_of(data)
    number = next(number for number, row in enumerate(rows) if row["count"] == 1)
    path.write_bytes(moved(data, number, rows[-1]["lastOffset"]))
    report = ls.Segment(path).validate()
    refused = rows[number + 1]
    assert [(finding.rule, finding.position) for finding in report.findings if finding.severity == "error"] == [
        ("ORD-1", refused["position"])
    ]
    stream = ls.Segment(path).batches(on_error="skip")
    assert [row["position"] for row in stream.to_pylist()] == [row["position"] for row in rows if row is not refused]


def test_salvage_keeps_what_the_manifest_allows(tmp_path: Path):
    """Of the newest upload no next segment says where it ends: its manifest does."""
    path = LAYOUTS["aiven"](tmp_path)[LAST]
    data = path.read_bytes()
    rows = rows_of(data)
    path.write_bytes(moved(data, -1, 1 << 20))
    found = ls.salvage(ls.FileSource(ls.Segment(path).path), order="offset")
    assert (found.entries, found.doubtful) == (len(rows) - 1, 1)
    done = run("salvage", tmp_path / "prefix", "--output", tmp_path / "saved")
    assert done.code == 3
    (log,) = (tmp_path / "saved/payments-0").glob(f"{path.name[:20]}.log")
    assert log.read_bytes() == data[: rows[-1]["position"]]


def test_offsets_that_the_manifest_has_and_no_batch_are_reported(tmp_path: Path):
    path = LAYOUTS["aiven"](tmp_path)[LAST]
    manifest = path.with_suffix(".rsm-manifest")
    members = json.loads(manifest.read_text())
    last = members["remoteLogSegmentMetadata"]["endOffset"]
    members["remoteLogSegmentMetadata"]["endOffset"] = last + 5
    manifest.write_text(json.dumps(members))
    assert ls.Log(tmp_path / "prefix").records().read_all().num_rows
    restored = ls.restore(tmp_path / "prefix", tmp_path / "restored")
    assert restored.damaged == []
    assert restored.gone == [f"payments-0: offsets {last + 1:,} to {last + 5:,} are in no upload"]
    assert restored.has_gaps


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES)
def test_both_readers_of_spark_report_such_a_batch(case: str, tmp_path: Path):
    from both_readers import ensure_equal, in_jvm, in_python
    from spark_session import columnar_options, spark_session

    number, base, rule = CASES[case]
    path = LAYOUTS["aiven"](tmp_path)[LAST]
    data = path.read_bytes()
    path.write_bytes(moved(data, number, base(rows_of(data))))
    python = in_python(tmp_path / "prefix")
    assert isinstance(python, str)
    assert f"[{rule}]" in python
    if not columnar_options():
        pytest.skip("the columnar reader is not built: it needs a JDK")
    ensure_equal(python, in_jvm(spark_session(), tmp_path / "prefix"), case)

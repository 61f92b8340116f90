"""Plain segments with the names of a template (TS-85): each reader has the rows of the log directory that they were copied from."""

from __future__ import annotations

import inspect
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import logsegment as ls
import tiered_corpus as tiered
from cli_process import Done
from cli_verbs import VERBS
from logsegment._core import Place
from template_objects import TEMPLATES, TOPIC, TOPIC_ID, TRANSACTIONS, copied

COLUMNS = ["offset", "value", "timestampMs", "producerId", "isControl"]
WHOLE = ls.Log(TRANSACTIONS)
PLACES = ("here", "s3")


def rows(log: ls.Log | ls.Segment, **options: Any) -> list[dict[str, Any]]:
    return log.records(columns=COLUMNS, control=True, **options).read_all().to_pylist()


@pytest.fixture(params=TEMPLATES.values(), ids=TEMPLATES)
def template(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=PLACES)
def prefix(request: pytest.FixtureRequest, template: str, tmp_path: Path, as_bucket: Callable[[Path], None]) -> str:
    """The prefix of the objects, on this machine and in a store."""
    copied(tmp_path / "objects/prefix", template)
    if request.param == "here":
        return str(tmp_path / "objects/prefix")
    as_bucket(tmp_path / "objects")
    return "s3://bucket/prefix"


def test_a_log_has_the_rows_of_the_log_directory(prefix: str, template: str):
    log = ls.Log(prefix, layout=template)
    assert log.partitions == [(TOPIC, 7)]
    assert [segment.base_offset for segment in log.segments] == [segment.base_offset for segment in WHOLE.segments]
    assert rows(log) == rows(WHOLE)
    for asked in (
        {"start_offset": 13, "end_offset": 70},
        {"isolation": "read_committed"},
        {"start_timestamp": rows(WHOLE)[30]["timestampMs"]},
    ):
        assert rows(log, **asked) == rows(WHOLE, **asked)
    assert {transaction[:3] for transaction in log.aborted_transactions} == {transaction[:3] for transaction in WHOLE.aborted_transactions}
    assert not log.left_out
    assert log.validate().findings == []
    assert rows(ls.Log(prefix, layout=template, topic=TOPIC, partition=7)) == rows(WHOLE)
    with pytest.raises(ValueError, match="no such topic"):
        ls.Log(prefix, layout=template, topic="others")


def test_a_segment_is_read_by_its_name(prefix: str, template: str):
    for segment, own in zip(ls.Log(prefix, layout=template), WHOLE, strict=True):
        named = ls.Segment(str(segment.path), layout=template)
        assert (named.topic, named.partition, named.base_offset) == (TOPIC, 7, own.base_offset)
        assert rows(named) == rows(own)
        assert named.next_offset() == own.next_offset()
        assert [tuple(entry) for entry in named.offset_index] == [tuple(entry) for entry in own.offset_index]
        assert [tuple(entry) for entry in named.time_index] == [tuple(entry) for entry in own.time_index]
        assert len(named.leader_epochs) == len(own.leader_epochs) > 0
        if own.base_offset:
            assert list(named.producer_snapshot) == list(own.producer_snapshot)


def test_the_other_functions_take_the_layout(prefix: str, template: str):
    given = {"layout": template}
    frame = ls.polars.scan(prefix, **given).select("offset", "value").collect()
    assert frame.rows() == [(row["offset"], row["value"]) for row in WHOLE.records(columns=["offset", "value"]).read_all().to_pylist()]
    assert [place.offset for place in ls.find(prefix, offset=50, **given)] == [place.offset for place in ls.find(TRANSACTIONS, offset=50)]
    assert len(list(ls.transactions(prefix, **given))) == len(list(ls.transactions(TRANSACTIONS))) > 0
    assert ls.stats(prefix, **given).to_dict()["records"] == ls.stats(TRANSACTIONS).to_dict()["records"]
    directory = str(ls.Log(prefix, **given).segments[0].path).rpartition("/")[0]
    for other in (directory, TRANSACTIONS):
        assert [list(comparison) for comparison in ls.diff(directory, other, **given)] == [[]]
    uploads = ls.tiered.uploads(prefix, **given)
    assert {upload.state for upload in uploads} == {"finished"}
    has_id = "topic_id" in template
    assert {(upload.topic, upload.topic_id, upload.partition) for upload in uploads} == {(TOPIC, TOPIC_ID if has_id else None, 7)}
    assert [upload.segment_id for upload in uploads] == [f"a.{number}" for number in range(len(uploads), 0, -1)]


def test_a_log_directory_is_restored(prefix: str, template: str, tmp_path: Path):
    done = ls.restore(prefix, tmp_path / "restored", layout=template)
    assert (done.damaged, done.gone, done.made_anew, done.segments) == ([], [], [], len(WHOLE.segments))
    directory = tmp_path / f"restored/{TOPIC}-7"
    for file in TRANSACTIONS.glob("0*"):
        if file.suffix != ".snapshot":
            assert (directory / file.name).read_bytes() == file.read_bytes()
    assert (directory / "00000000000000000020.snapshot").read_bytes() == (TRANSACTIONS / "00000000000000000020.snapshot").read_bytes()
    assert (directory / "leader-epoch-checkpoint").read_bytes() == (TRANSACTIONS / "leader-epoch-checkpoint").read_bytes()
    assert (directory / "partition.metadata").exists() == ("topic_id" in template)


def test_the_command_line_takes_the_layout(prefix: str, template: str, here: Callable[..., Done]):
    given = ("--layout", template)
    done = here("cat", prefix, "--columns", "partition,offset", *given)
    assert (done.code, done.err) == (0, "")
    assert [json.loads(line)["offset"] for line in done.text.splitlines()] == [
        row["offset"] for row in WHOLE.records(columns=["offset"]).read_all().to_pylist()
    ]
    assert here("verify", prefix, *given).code == 0
    done = here("find", prefix, "--offset", "50", "--json", "--quiet", *given)
    assert done.code == 0
    assert json.loads(done.text.splitlines()[0])["offset"] == 50
    assert here("diff", prefix, prefix, *given).code == 0
    done = here("follow", prefix, "--columns", "offset", "--offset", "80", "--idle-exit", "0", *given)
    assert [json.loads(line)["offset"] for line in done.text.splitlines()] == [80, 81, 84, 86]
    assert "--layout" in here("cat", prefix, "--layout", "{topic}/{ofset}.log").err


def test_each_verb_with_keys_has_the_layout():
    for name, verb in VERBS.items():
        options = {text for param in verb.params for text in param.opts}
        assert ("--key-file" in options) == ("--layout" in options), name
    for function in (ls.Log, ls.Segment, ls.find, ls.stats, ls.diff, ls.transactions, ls.committed_offsets, ls.restore, ls.polars.scan):
        assert {"layout", "decryption_keys"} <= set(inspect.signature(function).parameters), function
    assert "layout" in inspect.signature(ls.tiered.uploads).parameters


def test_no_sidecar_file_is_required(template: str, tmp_path: Path):
    copied(tmp_path, template, has_sidecars=False)
    log = ls.Log(tmp_path, layout=template)
    assert rows(log) == rows(WHOLE)
    assert rows(log, isolation="read_committed") == rows(WHOLE, isolation="read_committed")
    assert [finding for finding in log.validate().findings if finding.severity != "info"] == []


def test_fields_of_directories_may_come_from_elsewhere(tmp_path: Path):
    (tmp_path / "orders-3").mkdir()
    log = shutil.copyfile(TRANSACTIONS / "00000000000000000000.log", tmp_path / "orders-3/first-0.log")
    layout = "{id}-{offset}.log"
    assert ls.Log(tmp_path, layout=layout).partitions == [("orders", 3)]
    (tmp_path / "x/3").mkdir(parents=True)
    shutil.move(log, tmp_path / "x/3")
    assert ls.Log(tmp_path, layout=layout).partitions == [(None, None)]
    assert ls.Log(tmp_path, layout=layout, topic="t", partition=5).partitions == [("t", 5)]
    layout = "{partition}/{id}-{offset}.log"
    assert ls.Log(tmp_path, layout=layout, topic="t").partitions == [("t", 3)]
    assert ls.Log(tmp_path / "x/3", layout=layout, topic="t", partition=3).partitions == [("t", 3)]


def test_copies_of_a_segment_are_read_once(template: str, tmp_path: Path):
    """TS-44: with leader epochs a copy that was tried again is a duplicate; without them nothing decides."""
    copied(tmp_path / "known", template)
    copied(tmp_path / "known", template, mark="b")
    log = ls.Log(tmp_path / "known", layout=template)
    assert rows(log) == rows(WHOLE)
    assert {finding.rule for finding in log.left_out} == {"TS-44"}
    states = [upload.state for upload in ls.tiered.uploads(tmp_path / "known", layout=template)]
    assert sorted(states) == ["duplicate"] * len(WHOLE.segments) + ["finished"] * len(WHOLE.segments)
    for mark in "ab":
        copied(tmp_path / "unknown", template, mark=mark, has_sidecars=False)
    with pytest.raises(FileExistsError, match="uploaded more than once"):
        ls.Log(tmp_path / "unknown", layout=template)


def test_the_segments_of_two_leaders_end_where_the_next_begins(replicas: tuple[Path, Path], template: str, tmp_path: Path):
    for number, replica in enumerate(replicas):
        paths = copied(tmp_path / "prefix", template, source=replica, mark=f"leader{number}")
        for path in paths:
            checkpoint = path.with_name(path.name.removesuffix("log") + "leader_epoch_checkpoint")
            checkpoint.write_text("0\n1\n1 0\n")
    log = ls.Log(tmp_path / "prefix", layout=template)
    assert any("not read from offset" in finding.message for finding in log.left_out)
    assert rows(log) == rows(WHOLE)
    assert rows(log, isolation="read_committed", start_offset=17) == rows(WHOLE, isolation="read_committed", start_offset=17)
    for segment in log:
        own = rows(segment)
        assert rows(ls.Segment(str(segment.path), layout=template))[: len(own)] == own


@pytest.mark.parametrize(
    ("layout", "problem"),
    [
        ("", "at character 1: no .log at the end"),
        ("{topic}/{partition}/{id}.log", "at character 21: no {offset}"),
        (
            "{topic}/{ofset}.log",
            "at character 9: unknown field {ofset}; the fields are {topic}, {topic_id}, {partition}, {offset} and {id}",
        ),
        ("{topic}/{topic}/{offset}.log", "at character 9: {topic} for the second time"),
        ("{topic}/{offset.log", "at character 9: a brace without the other one"),
        ("{topic}-{partition}-{offset}.log", "at character 1: {topic} in the wrong place"),
    ],
)
def test_the_error_of_a_template_has_the_position(layout: str, problem: str, tmp_path: Path, here: Callable[..., Done]):
    for call in (ls.Log, ls.stats, ls.transactions, ls.tiered.uploads):
        with pytest.raises(ValueError, match="invalid layout") as raised:
            call(tmp_path, layout=layout)
        assert problem in str(raised.value)
    done = here("cat", tmp_path, "--layout", layout)
    assert (done.code, problem in done.err) == (2, True)


def test_an_object_that_does_not_fit_is_not_read(template: str, tmp_path: Path):
    (first, *_) = copied(tmp_path, template)
    hostile = ["-1", "", "99999999999999999999", "9" * 200, "1e3", "٣", "0x10", " 1", "1-before-00000000000000000009"]
    for number, text in enumerate(hostile):
        for name in (first.name.replace("00000000000000000000", text), first.name.replace("_0.", f"_{text}.")):
            if name != first.name:
                shutil.copyfile(first, first.with_name(name))
        for part in (text, f"kafka={TOPIC}-{text}-{TOPIC_ID}"):
            if part and len(part) < 250:
                (tmp_path / f"more{number}" / TOPIC / part).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(first, tmp_path / f"more{number}" / TOPIC / part / first.name)
    (first.parent / "notes.txt").write_text("nothing")
    assert ls.Log(tmp_path, layout=template).partitions == [(TOPIC, 7)]
    assert rows(ls.Log(tmp_path, layout=template)) == rows(WHOLE)


def test_the_error_of_no_object_names_the_layout_and_a_file(tmp_path: Path, here: Callable[..., Done]):
    path = tmp_path / "x/0-a.log"
    path.parent.mkdir()
    shutil.copyfile(TRANSACTIONS / "00000000000000000000.log", path)
    layout = "{topic}/{partition}/{offset:020}-{id}.log"
    for place in (tmp_path, path):
        with pytest.raises(FileNotFoundError) as raised:
            ls.Log(place, layout=layout)
        assert f"no object fits the layout '{layout}'; a file there is {path}" in str(raised.value)
    done = here("verify", tmp_path, "--layout", layout)
    assert done.code == 2
    assert str(path) in done.err


def test_a_layout_takes_the_place_of_the_known_ones(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="no object fits the layout"):
        ls.Log(tiered.LOCAL, layout="{topic}/{partition}/{offset:020}-{id}.log")
    folder = next(path.parent for path in tiered.LOCAL.rglob("*.log"))
    assert rows(ls.Log(folder, layout="{offset:020}-{id}.log")) == rows(ls.Log(folder))


topics = st.from_regex(r"[A-Za-z0-9._-]{1,249}", fullmatch=True).filter(lambda name: name not in (".", ".."))
ids = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=60).filter(
    lambda text: "-before-" not in text
)


@given(
    topic=topics,
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    segment_id=ids,
    template=st.sampled_from([*TEMPLATES.values()]),
)
def test_names_of_a_template_are_parsed_back(topic: str, partition: int, offset: int, segment_id: str, template: str):
    name = template.format(topic=topic, topic_id=TOPIC_ID, partition=partition, offset=offset, id=segment_id)
    for place in (f"/bucket/{name}", f"s3://bucket/prefix/{name}"):
        uri = Place(place.removesuffix(name)).uploaded(None, template).joined(name)
        assert uri.uploaded_name() == (f"{offset:020}.log", TOPIC_ID if "topic_id" in template else None)


@given(
    text=st.text(max_size=60)
    | st.lists(st.sampled_from(["{offset}", "{id}", "{topic}", "{partition:05}", "/", "-", "{", "}", ".log"])).map("".join)
)
def test_any_text_is_a_layout_or_an_error(text: str):
    if "{offset" in text.rpartition("/")[2] and text.endswith(".log"):
        with suppress(ValueError):
            Place("").uploaded(None, text)
        return
    with pytest.raises(ValueError, match=r"(?s)invalid layout .* at character [0-9]+: "):
        Place("").uploaded(None, text)


@pytest.mark.spark
@pytest.mark.parametrize("reader", ["columnar", "python"])
def test_spark_reads_the_layout(reader: str, template: str, tmp_path: Path):
    from spark_session import spark_session

    copied(tmp_path, template)
    read = spark_session().read.format("logsegment").options(layout=template, reader=reader)
    found = sorted(
        (row["topic"], row["partition"], row["offset"], bytes(row["value"] or b"")) for row in read.load(str(tmp_path)).collect()
    )
    whole = WHOLE.records(columns=["offset", "value"]).read_all().to_pylist()
    assert found == [(TOPIC, 7, row["offset"], row["value"] or b"") for row in whole]
    read = spark_session().read.format("logsegment").option("layout", template)
    assert read.option("view", "batches").load(str(tmp_path)).count() == sum(len(segment.batches().to_pylist()) for segment in WHOLE)
    with pytest.raises(Exception, match="unknown field"):
        spark_session().read.format("logsegment").option("layout", "{x}.log").load(str(tmp_path)).collect()

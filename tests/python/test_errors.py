"""Every class of error that bytes can cause is caused by a hostile file; its attributes say where; all of them pickle."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import building
import corpus
import hostile
import logsegment as ls

#: Class -> a hostile case that causes it, with what it must say.
CAUSES = {
    ls.CorruptError: ("v2-header-count-negative", {"code": "count", "rule": "V2-39", "kafka_error_code": 87, "record_index": 0}),
    ls.ChecksumError: ("v2-crc-bitflip", {"code": "checksum", "rule": "V2-31", "kafka_error_code": 2, "field": "crc"}),
    ls.UnsupportedError: ("v2-magic-3", {"code": "unsupported_format", "rule": "MAP-3", "kafka_error_code": 2, "field": "magic"}),
    ls.UnknownCompressionError: ("v2-codec-id-6", {"code": "unknown_compression", "rule": "V2-33", "kafka_error_code": -1}),
    ls.LimitError: ("v2-length-2147483647", {"code": "limit", "rule": "COD-6", "field": "batchLength"}),
    ls.CodecError: ("v2-lz4-block-checksum-wrong", {"code": "codec", "rule": "COD-L11", "kafka_error_code": -1}),
}
ATTRIBUTES = ("code", "rule", "kafka_error_code", "position", "base_offset", "record_index", "field")
#: Classes that no input of `decode` causes: a conversion that would lose something, and a defect of the library itself.
NOT_FROM_BYTES = {ls.LossError, ls.InternalError}
#: Class -> what causes it besides the hostile files.
OTHER_CAUSES: dict[type[ls.RecordBatchError], Callable[[], Any]] = {
    ls.TruncatedError: lambda: ls.decode(building.simple_batch([b"v"])[:-1], strict_tail=True).read_all(),
    ls.InvalidError: lambda: ls.decode(control_batch_of_version(-1), control=True).read_all(),
}


def control_batch_of_version(version: int) -> bytes:
    key = version.to_bytes(2, "big", signed=True) + bytes(2)
    return building.batch(building.record(key, bytes(6)), count=1, attributes=building.CONTROL)


def caused_by(name: str) -> ls.RecordBatchError:
    case = next(case for case in hostile.cases() if case.name == name)
    with pytest.raises(ls.RecordBatchError) as raised:
        ls.decode(case.read(), control=True).read_all()
    return raised.value


def all_errors() -> list[ls.RecordBatchError]:
    errors = [caused_by(name) for name, _ in CAUSES.values()]
    for cause in OTHER_CAUSES.values():
        with pytest.raises(ls.RecordBatchError) as raised:
            cause()
        errors.append(raised.value)
    return errors


def test_every_class_is_caused_or_named_as_one_that_bytes_cannot_cause():
    public = {value for value in vars(ls).values() if isinstance(value, type) and issubclass(value, ls.RecordBatchError)}
    assert public - {ls.RecordBatchError} == CAUSES.keys() | OTHER_CAUSES.keys() | NOT_FROM_BYTES
    assert {type(error) for error in all_errors()} == CAUSES.keys() | OTHER_CAUSES.keys()


def test_classes_form_the_documented_tree():
    assert issubclass(ls.RecordBatchError, ValueError)
    assert issubclass(ls.ChecksumError, ls.CorruptError)
    assert issubclass(ls.UnknownCompressionError, ls.UnsupportedError)
    below = {cls.__base__ for cls in (ls.TruncatedError, ls.CorruptError, ls.InvalidError, ls.UnsupportedError)}
    below |= {cls.__base__ for cls in (ls.LimitError, ls.CodecError, ls.LossError, ls.InternalError)}
    assert below == {ls.RecordBatchError}


@pytest.mark.parametrize("cls", CAUSES, ids=lambda cls: cls.__name__)
def test_attributes_say_what_is_wrong_and_where(cls: type[ls.RecordBatchError]):
    name, wanted = CAUSES[cls]
    error = caused_by(name)
    assert type(error) is cls
    assert {attribute: getattr(error, attribute) for attribute in wanted} == wanted
    assert error.position == hostile.outcomes()[name]["error"]["position"]
    assert f"[{error.rule}]" in str(error)
    assert f"at byte {error.position}" in str(error)


def test_a_torn_tail_is_truncated_only_when_asked_for():
    """L8-14: truncated is not corrupt; more bytes may come, so it has no wire code."""
    data = building.simple_batch([b"v"])[:-1]
    assert ls.decode(data).read_all().num_rows == 0
    with pytest.raises(ls.TruncatedError, match=rf"{len(data) + 1} bytes needed, {len(data)} available") as raised:
        ls.decode(data, strict_tail=True).read_all()
    error = raised.value
    assert (error.code, error.rule, error.kafka_error_code, error.position) == ("truncated", "L8-14", None, 0)


def test_a_control_key_of_a_negative_version_is_invalid():
    """CTL-2: above 0 it is read as 0."""
    with pytest.raises(ls.InvalidError, match="CTL-2") as raised:
        ls.decode(control_batch_of_version(-1), control=True).read_all()
    error = raised.value
    assert (error.code, error.kafka_error_code, error.record_index) == ("invalid", 87, 0)
    [row] = corpus.rows_of(ls.decode(control_batch_of_version(7), columns=["controlType"], control=True))
    assert row["controlType"] == "ABORT"


def test_corrupt_and_invalid_records_keep_kafkas_two_wire_codes():
    """ERR-3: CORRUPT_MESSAGE (2) is retried by clients, INVALID_RECORD (87) is not. The table has one line for each case."""
    classes = {"CorruptRecordException": {2}, "InvalidRecordException": {87}, "KafkaException": {-1}, "UnknownCodecException": {-1}}
    # A batch of magic 2 in a wrapper: what Java says depends on where its bytes as a message lead it.
    inner_batches = ("v0-lz4-inner-magic-2-batch", "v1-snappy-inner-magic-2-batch")
    for name, row in hostile.outcomes().items():
        if row["error"] and row["error"]["class"] != "LimitError" and row["kafka"] in classes and name not in inner_batches:
            # KIP-57 gives LZ4 in message sets code 2, and so answered the brokers that stored them; Kafka 4.1's classes no longer do.
            is_kip_57 = name.startswith(("v0-lz4-", "v1-lz4-")) and row["error"]["class"] == "CodecError"
            assert row["error"]["kafka_error_code"] in ({2} if is_kip_57 else classes[row["kafka"]]), name


@pytest.mark.parametrize("error", all_errors(), ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("through", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_errors_pickle_with_all_that_they_say(error: ls.RecordBatchError, through: Callable[[Any], Any]):
    """Spark sends them from workers to the driver."""
    other = through(error)
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert [getattr(other, name) for name in ATTRIBUTES] == [getattr(error, name) for name in ATTRIBUTES]


def test_every_attribute_exists_on_errors_made_by_hand():
    for cls in [*CAUSES, *OTHER_CAUSES, *NOT_FROM_BYTES]:
        error = cls("text")
        assert [getattr(error, name) for name in ATTRIBUTES] == [None] * len(ATTRIBUTES)
        assert str(pickle.loads(pickle.dumps(error))) == "text"


def test_a_consumer_of_the_arrow_stream_sees_the_message_and_the_stream_keeps_the_typed_error():
    import pyarrow as pa

    case = next(case for case in hostile.cases() if case.name == "v2-crc-bitflip")
    stream = ls.decode(case.read())
    assert stream.error is None
    with pytest.raises(pa.ArrowInvalid, match=r"\[V2-31\]"):
        pa.table(stream)
    assert isinstance(stream.error, ls.ChecksumError)
    assert stream.error.position == hostile.outcomes()[case.name]["error"]["position"]


def test_a_stream_that_ended_in_an_error_gives_nothing_more():
    case = next(case for case in hostile.cases() if case.name == "v2-crc-bitflip")
    stream = ls.decode(case.read())
    assert next(stream).num_rows == 3
    with pytest.raises(ls.ChecksumError):
        next(stream)
    with pytest.raises(StopIteration):
        next(stream)


BAD_ARGUMENTS: list[tuple[dict[str, Any], Any, str]] = [
    ({"columns": "offset"}, TypeError, "sequence of names"),
    ({"columns": ["offset", "nonsense"]}, ValueError, "nonsense"),
    ({"binary": "utf8"}, ValueError, "binary must be"),
    ({"on_error": "ignore"}, ValueError, "on_error must be"),
    ({"isolation": "serializable"}, ValueError, "isolation must be"),
    ({"format": "v9"}, ValueError, "format must be"),
    ({"batch_size": 0}, ValueError, "batch_size must be at least 1"),
    ({"batch_bytes": 0}, ValueError, "batch_bytes must be at least 1"),
    ({"threads": 0}, ValueError, "threads must be at least 1"),
    ({"batch_size": -1}, (TypeError, ValueError), "batch_size"),
    ({"partition": "one"}, ValueError, "partition must be a number"),
    ({"partition": 1 << 31}, (TypeError, ValueError), "partition"),
    ({"start_offset": "one"}, TypeError, "start_offset must be an integer"),
    ({"end_offset": 1.5}, TypeError, "end_offset must be an integer"),
    ({"limits": {"max_records": 1}}, TypeError, "limits"),
    ({"transactions": []}, TypeError, "transactions"),
    ({"no_such_option": 1}, TypeError, "no_such_option"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD_ARGUMENTS, ids=lambda value: str(value)[:40])
def test_a_callers_mistake_is_a_built_in_error(arguments: dict[str, Any], error: Any, message: str):
    with pytest.raises(error, match=message):
        ls.decode(b"", **arguments)


@pytest.mark.parametrize("source", [None, 5, object(), ["a"], [5]], ids=lambda source: repr(source)[:7])
@pytest.mark.parametrize("verb", [ls.decode, ls.batches, ls.validate], ids=lambda verb: verb.__name__)
def test_an_invalid_source_is_a_type_error(verb: Callable[[Any], Any], source: Any):
    # A list of paths is a source of `validate`.
    with pytest.raises(FileNotFoundError if verb is ls.validate and source == ["a"] else TypeError):
        verb(source)


def test_a_missing_file_is_an_os_error_with_its_name(tmp_path: Any):
    missing = tmp_path / "none.log"
    for verb in (ls.decode, ls.batches, ls.validate):
        with pytest.raises(FileNotFoundError) as raised:
            verb(ls.FileSource(missing))
        assert str(raised.value.filename) == str(missing)


def test_a_directory_is_not_a_segment(tmp_path: Any):
    with pytest.raises(ls.InvalidError, match="looks like a directory"):
        ls.decode(ls.FileSource(tmp_path)).read_all()


class Failing:
    """A file object whose reading fails."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def read(self, size: int) -> bytes:
        raise self.error


@pytest.mark.parametrize("error", [OSError(5, "disk on fire"), RuntimeError("no such thing"), KeyboardInterrupt()], ids=repr)
def test_what_a_file_object_raises_comes_through(error: BaseException):
    with pytest.raises(type(error)) as raised:
        ls.decode(Failing(error)).read_all()
    assert raised.value.args == error.args


def test_a_text_file_is_a_type_error():
    import io

    with pytest.raises(TypeError):
        ls.decode(io.StringIO("text")).read_all()


def test_a_report_survives_pickling():
    data = building.simple_batch([b"a", b"b"])
    report = ls.validate(data + data[:-1])
    again = pickle.loads(pickle.dumps(report))
    assert again.to_dict() == report.to_dict()
    assert repr(again) == repr(report)
    assert pa.table(again.to_arrow()).equals(pa.table(report.to_arrow()))

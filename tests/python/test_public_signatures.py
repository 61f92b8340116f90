"""The parameters of the public functions, which other programs name: more may be added, none is renamed."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import logsegment as ls

PARAMETERS: dict[Any, str] = {
    ls.decode: "source columns binary check_crc on_error strict_tail isolation control start_offset end_offset batch_size batch_bytes "
    "topic partition threads format quirks zstd_dictionaries limits codecs values",
    ls.batches: "source check_crc on_error resolve",
    ls.validate: "source depth",
    ls.encode: "table format compression level base_offset batch_bytes timestamp_type log_append_time producer_id producer_epoch "
    "base_sequence transactional partition_leader_epoch metadata_first codecs out overwrite",
    ls.convert: "source to compression level allow_loss first_offset out overwrite",
    ls.salvage: "source out overwrite",
    ls.inspect: "source at offset depth",
    ls.lz4_header_checksum: "frame form",
    ls.fix_lz4: "source limits",
    ls.break_lz4: "source limits",
    ls.find: "source offset start_timestamp end_timestamp key header limit on_error decryption_keys",
    ls.diff: "a b decryption_keys",
    ls.stats: "source what_if decryption_keys",
    ls.transactions: "source now decryption_keys",
    ls.broker.append: "source first_offset to compression timestamp_type now before_max_ms after_max_ms compacted max_message_bytes "
    "partition_leader_epoch producer_state limits codecs",
    ls.broker.fetch: "source api_version topic_compression first_offset",
    ls.Segment: "path mmap decryption_keys",
    ls.Log: "path topic partition mmap decryption_keys",
    ls.Segment.records: "start_offset end_offset start_timestamp end_timestamp isolation",
    ls.Log.records: "start_offset end_offset start_timestamp end_timestamp isolation",
    ls.polars.scan: "path topic partition isolation decryption_keys",
}
ATTRIBUTES: dict[type, str] = {
    ls.Finding: "rule severity message path position length base_offset last_offset record_index field",
    ls.RecordBatchError: "code kafka_error_code path position base_offset record_index field",
    ls.Report: "ok counts undecompressed to_arrow to_dict",
    ls.RecordStream: "schema findings error io_stats read_all to_pyarrow to_polars to_pandas to_pylist __arrow_c_stream__ "
    "__arrow_c_schema__",
    ls.ArrowBatch: "__arrow_c_array__ to_pylist",
    ls.BatchTable: "__arrow_c_stream__ to_pyarrow to_polars to_pandas to_pylist",
    ls.Segment: "batches records validate offset_index time_index aborted_transactions producer_snapshot leader_epochs",
    ls.Log: "partitions batches records validate __arrow_c_stream__ to_pandas to_polars to_pyarrow",
}


@pytest.mark.parametrize("call", PARAMETERS, ids=lambda call: call.__qualname__)
def test_parameters_keep_their_names(call: Any):
    found = inspect.signature(call).parameters
    assert [name for name in PARAMETERS[call].split() if name not in found] == []


@pytest.mark.parametrize("cls", ATTRIBUTES, ids=lambda cls: cls.__name__)
def test_attributes_keep_their_names(cls: type):
    assert [name for name in ATTRIBUTES[cls].split() if not hasattr(cls, name)] == []


def test_whatever_writes_keeps_an_existing_output_unless_it_is_told():
    writing = [ls.encode, ls.convert, ls.salvage]
    assert all(inspect.signature(call).parameters["overwrite"].default is False for call in writing)

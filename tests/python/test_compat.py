"""What request versions and client releases may carry (VAL-1, CNV-13, COD-Z7, ERR-1)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import logsegment as ls


def test_cod_z7_zstd_needs_produce_7_and_fetch_10():
    for ask, first in ((ls.compat.produce, 7), (ls.compat.fetch, 10)):
        refused = ask(first - 1, compression="zstd")
        assert (refused.ok, refused.error.code, refused.error.name) == (False, 76, "UNSUPPORTED_COMPRESSION_TYPE")
        assert "upgrade the" in refused.advice
        assert ask(first, compression="zstd").ok


def test_err_1_the_number_of_the_seed_is_named_next_to_the_one_that_shipped():
    assert "74" in ls.compat.produce(6, compression="zstd").advice
    assert ls.compat.ERRORS[74].name == "FENCED_LEADER_EPOCH"
    assert ls.compat.ERRORS[76].name == "UNSUPPORTED_COMPRESSION_TYPE"


@pytest.mark.parametrize("format", ["v0", "v1"])
def test_cod_z1_zstd_in_old_formats_is_an_invalid_record(format: str):
    assert ls.compat.produce(2, format=format, compression="zstd").error.name == "INVALID_RECORD"


def test_val_1_produce_3_takes_magic_2_only():
    assert [ls.compat.produce(3, format=name).ok for name in ("0.7", "v0", "v1", "v2")] == [False, False, False, True]


def test_cnv_13_old_fetches_are_converted_down():
    assert [ls.compat.fetch(version).converted for version in range(5)] == ["v0", "v0", "v1", "v1", None]
    assert [ls.compat.fetch(version, format="v0").converted for version in range(5)] == [None] * 5


def test_brokers_of_4_send_zstd_in_every_version_that_they_support():
    """`KafkaApis` of 4.0 and newer has no check of KIP-110 any more; 3.9.1 answers 76."""
    for version in (4, 9):
        assert ls.compat.fetch(version, compression="zstd").error.code == 76
        assert ls.compat.fetch(version, compression="zstd", release="3.9.1").error.code == 76
        assert all(ls.compat.fetch(version, compression="zstd", release=release).ok for release in ("4.0", "4.3.1", "5.0"))
    for version in range(4):
        refused = ls.compat.fetch(version, compression="lz4", release="4.0")
        assert (refused.error.name, refused.converted) == ("UNSUPPORTED_VERSION", None)
        assert "3.9" in refused.advice
    assert ls.compat.fetch(10, release="2.0").error.code == 35
    assert [ls.compat.produce(version, compression="zstd", release="4.0").error.code for version in (2, 6)] == [35, 76]
    assert [row.zstd_since for row in ls.compat.FETCH] == [None, None, "4.0", None]
    with pytest.raises(ValueError, match="release must be a release of Kafka"):
        ls.compat.fetch(9, release="new")


def test_broker_fetch_and_append_have_the_release():
    table = pa.table({"value": [b"a" * 50]})
    zstd, lz4 = ls.encode(table, compression="zstd"), ls.encode(table, compression="lz4")
    for options in ({}, {"release": "3.9.1"}):
        with pytest.raises(ls.UnsupportedError, match="needs Fetch version 10"):
            ls.broker.fetch(zstd, api_version=9, topic_compression="zstd", **options)
    assert ls.broker.fetch(zstd, api_version=9, topic_compression="zstd", release="4.0") == zstd
    with pytest.raises(ls.UnsupportedError, match=r"brokers up to 3\.9 serve Fetch version 3") as raised:
        ls.broker.fetch(lz4, api_version=3, release="4.0")
    assert raised.value.kafka_error_code == 35
    assert ls.decode(ls.broker.fetch(lz4, api_version=3), columns=["magic"]).to_pylist() == [{"magic": 1}]
    # Produce: version 7 for zstd, magic 2 from version 3 on; versions below 3 end with 3.9.
    assert ls.broker.append(zstd, first_offset=0, api_version=7).last_offset == 0
    v1 = ls.encode(table, format="v1")
    assert ls.broker.append(v1, first_offset=0, api_version=2).last_offset == 0
    refused = [(zstd, 6, None, 76), (zstd, 6, "4.0", 76), (v1, 3, None, 87), (v1, 2, "4.0", 35)]
    for data, version, release, code in refused:
        with pytest.raises(ls.RecordBatchError, match="VAL-1") as raised:
            ls.broker.append(data, first_offset=0, api_version=version, release=release)
        assert raised.value.kafka_error_code == code
    with pytest.raises(ValueError, match="only a client sends a Produce request"):
        ls.broker.append(zstd, first_offset=0, api_version=7, origin="replication")
    with pytest.raises(ValueError, match="api_version"):
        ls.broker.append(zstd, first_offset=0, api_version=-1)


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (2, 1), (4, 2), (12, 2)])
def test_v3_is_converted_down_for_every_version_of_fetch(version: int, magic: int):
    """No version of Fetch has magic 3: an old consumer gets an older format, as KIP-931 says."""
    table = pa.table({"value": [b"a", b"b"], "timestampMs": [10, 20]})
    stored = ls.encode(table, format="v3", compression="lz4") + ls.encode(table, base_offset=2)
    found: list[dict[str, Any]] = []
    while len(found) < 4:
        # A response is no longer than what is stored, so that a consumer asks again for what does not fit.
        sent = ls.broker.fetch(stored, api_version=version, format="v3", first_offset=len(found))
        found += [row for row in ls.decode(sent, columns=["offset", "value", "magic"]).to_pylist() if row["offset"] >= len(found)]
    assert [row["offset"] for row in found] == [0, 1, 2, 3]
    assert {row["magic"] for row in found} == {magic}
    with pytest.raises(ls.UnsupportedError, match="MAP-3"):
        ls.broker.fetch(stored, api_version=version)


def test_tables_have_no_gaps():
    for rows in (ls.compat.PRODUCE, ls.compat.FETCH):
        assert rows[0].first == 0
        assert rows[-1].last is None
        assert all(before.last + 1 == after.first for before, after in pairwise(rows))


def test_clients_know_what_their_versions_carry():
    assert len(ls.compat.CLIENTS) >= 8
    for row in ls.compat.CLIENTS:
        if row.produce is not None:
            assert ls.compat.produce(row.produce, format=row.writes, compression="gzip").ok
            assert ls.compat.produce(row.produce, format=row.writes, compression="zstd").ok == ("zstd" in row.compressions)
        if row.fetch is not None:
            assert ls.compat.fetch(row.fetch, format=row.reads[-1]).converted is None


@pytest.mark.parametrize(("release", "since"), [("0.7.2", "0.7.1"), ("0.8.2.2", "0.8.2"), ("0.10.2.2", "0.10.0"), ("3.9.1", "2.3")])
def test_releases_find_their_row(release: str, since: str):
    assert ls.compat.client(release).since == since


@pytest.mark.parametrize("release", ["0.6", "newest", "", "1.2.3.4.5"])
def test_what_is_no_release_is_a_mistake(release: str):
    with pytest.raises(ValueError, match="release must be"):
        ls.compat.client(release)


def test_mistakes():
    with pytest.raises(ValueError, match="api_version"):
        ls.compat.fetch(-1)
    with pytest.raises(ValueError, match="format must be"):
        ls.compat.fetch(1, format="v9")
    with pytest.raises(ls.UnknownCompressionError, match="Unknown compression name: brotli"):
        ls.compat.produce(9, compression="brotli")

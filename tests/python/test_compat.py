"""What request versions and client releases may carry (VAL-1, CNV-13, COD-Z7, ERR-1)."""

from __future__ import annotations

from itertools import pairwise

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

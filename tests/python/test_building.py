"""What builds batches for the other tests is right itself: it gives the worked examples of the format byte for byte."""

from __future__ import annotations

import building

TIME = 1600000000000


def test_checksum_has_the_check_value_of_its_polynomial():
    """PRM-7."""
    assert building.crc32c(b"123456789") == 0xE3069283


def test_two_records_are_the_worked_example():
    """V2-65: offsets 5 and 6, a header, nulls."""
    content = building.record(b"k", b"hello", [(b"h", b"v")]) + building.record(offset_delta=1, timestamp_delta=7)
    data = building.batch(content, count=2, base_offset=5, base_timestamp=TIME, max_timestamp=TIME + 7, leader_epoch=-1)
    assert data == bytes.fromhex(
        "0000000000000005 00000049 ffffffff 02 c0283d54 0000 00000001 00000174876e8000 00000174876e8007"
        "ffffffffffffffff ffff ffffffff 00000002 20000000026b0a68656c6c6f0202680276 0c000e02010100"
    )


def test_marker_has_the_size_and_record_of_the_worked_example():
    """CTL-6: COMMIT at offset 9 of producer 1000, 78 bytes."""
    data = building.marker(1, 1000, 9)
    assert len(data) == 78
    assert data[61:] == bytes.fromhex("20 00 00 00 08 00000001 0c 000000000000 00")

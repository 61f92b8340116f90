"""`logsegment lz4`: exit codes, outputs that are whole or absent, inputs that are never written."""

from __future__ import annotations

import random
from pathlib import Path

import lz4.frame
import pytest

import building
import logsegment as ls
from cli_process import CODEC_FILE, run
from lz4_frames import PLAIN, frame, message

GOOD = message(0, frame("6040", PLAIN, 0x1A)) + message(1, frame("6040", PLAIN))
WRONG = message(0, frame("6040", PLAIN)) + message(1, frame("6040", PLAIN))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "good.log").write_bytes(GOOD)
    (tmp_path / "wrong.log").write_bytes(WRONG)
    (tmp_path / "bad.log").write_bytes(WRONG[:-9] + b"\xff" + WRONG[-8:])
    return tmp_path


def test_check_reports_forms_and_exit_codes(files: Path):
    done = run("lz4", "check", CODEC_FILE, files / "good.log")
    assert (done.code, done.text.count("readable")) == (0, 2)
    done = run("lz4", "check", files / "wrong.log")
    assert done.code == 1
    assert "REJECTED" in done.text
    assert done.text.count("`logsegment lz4 fix --form magic` rewrites it") == 1
    assert run("lz4", "check", files / "missing.log").code == 2
    assert run("lz4", "check", files / "bad.log").code == 1
    assert "no LZ4 frames" in run("lz4", "check", "-", stdin=message(0, b"x", codec=0)).text


@pytest.mark.parametrize(("verb", "form"), [("fix", "correct"), ("break", "broken")])
def test_rewrites_into_a_new_file(files: Path, verb: str, form: str):
    done = run("lz4", verb, files / "wrong.log", "-o", files / "out.log")
    assert (done.code, done.out) == (0, b"")
    assert {row.form for row in ls.check_lz4((files / "out.log").read_bytes())} == {form}
    assert (files / "wrong.log").read_bytes() == WRONG
    piped = run("lz4", verb, "-", "--output", "-", stdin=WRONG)
    assert (piped.code, piped.out) == (0, (files / "out.log").read_bytes())


def test_an_input_is_never_overwritten(files: Path):
    done = run("lz4", "fix", files / "wrong.log", "-o", files / "wrong.log")
    assert done.code == 2
    assert (files / "wrong.log").read_bytes() == WRONG


def test_damage_leaves_no_output(files: Path):
    done = run("lz4", "fix", files / "bad.log", "-o", files / "out.log")
    assert done.code == 1
    assert "L8-2" in done.err
    assert sorted(path.name for path in files.iterdir()) == ["bad.log", "good.log", "wrong.log"]


def test_several_segments_are_refused(files: Path):
    directory = files / "topic-0"
    directory.mkdir()
    for name in ("00000000000000000000.log", "00000000000000000010.log"):
        (directory / name).write_bytes(GOOD)
    assert run("lz4", "break", directory, "-o", files / "out.log").code == 2


def test_the_form_of_the_magic_is_what_brokers_of_each_magic_expect(files: Path):
    done = run("lz4", "fix", "--form", "magic", files / "wrong.log", "-o", files / "out.log")
    assert (done.code, run("lz4", "check", files / "out.log").code) == (0, 0)
    assert (files / "out.log").read_bytes() == ls.fix_lz4(WRONG, form="magic") == GOOD
    assert ls.fix_lz4(GOOD, form="magic") == GOOD
    assert {(row.magic, row.form) for row in ls.check_lz4(ls.fix_lz4(GOOD))} == {(0, "correct"), (1, "correct")}
    assert run("lz4", "fix", "--form", "broken", files / "wrong.log", "-o", files / "no.log").code == 2
    with pytest.raises(ValueError, match='form must be "correct" or "magic"'):
        ls.fix_lz4(GOOD, form="broken")


@pytest.mark.parametrize("quirk", ["lz4-header-checksum", "lz4-dependent-blocks"])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_convert_encodes_again_what_it_tolerates(quirk: str, magic: int, files: Path):
    """Its output has no frame that readers without the quirk refuse, whatever the codec of the output is."""
    is_linked = quirk == "lz4-dependent-blocks"
    # In magic 0 every checksum is read, so that there is nothing to tolerate.
    is_tolerated = is_linked or magic > 0
    # Of one block alone the library says that it depends on no other.
    value = random.Random(25).randbytes(200_000)
    inner = building.record(value=value) if magic == 2 else message(magic, value, codec=0, offset=0)
    packed = lz4.frame.compress(inner, block_linked=is_linked)
    if not is_linked:
        at = 6 + (8 if packed[4] & 8 else 0)
        packed = packed[:at] + bytes([packed[at] ^ 0x33]) + packed[at + 1 :]
    data = building.batch(packed, count=1, attributes=building.LZ4) if magic == 2 else message(magic, packed, offset=0)
    path = files / "00000000000000000000.log"
    path.write_bytes(data)
    if is_tolerated:
        with pytest.raises(ls.CodecError):
            ls.decode(data).read_all()
    wanted = ls.decode(data, quirks=[quirk]).to_pylist()
    made = ls.convert(data, to=f"v{magic}", quirks=[quirk]).data
    assert (made != data) == is_tolerated
    assert ls.decode(made).to_pylist() == wanted
    done = run("convert", "--to", f"v{magic}", "--quirk", quirk, path, "-o", files / "out.log")
    assert (done.code, (files / "out.log").read_bytes()) == (0, made)
    if magic == 2:
        again = ls.convert(data, to="v3", quirks=[quirk]).data
        assert [row["value"] for row in ls.decode(again, format="v3").to_pylist()] == [row["value"] for row in wanted]

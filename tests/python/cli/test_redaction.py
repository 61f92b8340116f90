"""`--redact`: no byte of a key, a value or a header value is shown in any form; equal payloads stay equal."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import corpus
import logsegment as ls
from cli_process import MODERN, run
from logsegment._options import is_of_keys, is_of_values
from logsegment.cli.redaction import OPEN_COLUMNS, Redactor, is_valid_entry, redacted
from logsegment.cli.value_types import RECORD_COLUMNS

KEY = b"a key of more than sixteen bytes"
#: No four letters of them stand in anything else that is shown.
KEYS = [b"Kq7#xX47/Qx9~Jw2", b"Wq9~Zyx:vU-0815"]
VALUES = [b"Gzq:jVbX-77Yx1-2q0Jx96", b"\xf3\x91\x0aPqz!w=hXq22!kvJ\xfe\xaa"]
HEADER = b"Tqk3z-mZr88x12-vJ"
SECRETS = [*KEYS, *VALUES, HEADER]
#: Columns of undecoded records: typed keys and values are refused together with --redact.
UNDECODED = [name for name in RECORD_COLUMNS if not is_of_values(name) and not is_of_keys(name)]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "redact.key"
    path.write_bytes(KEY + b"\n")
    return path


def table(*, has_headers: bool = True) -> pa.Table:
    columns: dict[str, Any] = {
        "key": pa.array([KEYS[0], KEYS[1], None, KEYS[0]], pa.binary()),
        "value": pa.array([VALUES[0], VALUES[1], VALUES[0], None], pa.binary()),
        "timestampMs": [1_700_000_000_000 + row for row in range(4)],
    }
    if has_headers:
        kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
        columns["headers"] = pa.array([[{"key": "trace-id", "value": HEADER}, {"key": "empty", "value": None}], [], [], []], kind)
    return pa.table(columns)


def entries(kind: str) -> bytes:
    """Batches of a format in all codecs that it has."""
    codecs = CODECS if kind == "v2" else CODECS[:-1]
    parts = (
        ls.encode(table(has_headers=kind == "v2"), format=kind, compression=codec, base_offset=4 * at) or b""
        for at, codec in enumerate(codecs)
    )
    return b"".join(parts)


@pytest.fixture(scope="module")
def v2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made("v2", tmp_path_factory)


@pytest.fixture(scope="module", params=["v2", "v1"])
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(request.param, tmp_path_factory)


def made(kind: str, root: pytest.TempPathFactory) -> Path:
    path = root.mktemp(kind) / "orders-0" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(entries(kind))
    return path


def leaks(shown: bytes) -> list[str]:
    """Pieces of the secrets in what was shown: as bytes, in hex, in base64 at any place, as numbers of four and eight bytes."""
    found = []
    low = shown.lower()
    for secret in SECRETS:
        for at in range(len(secret) - 5):
            four, six = secret[at : at + 4], secret[at : at + 6]
            forms = [four.hex(), four.hex(" "), repr(four)[2:-1].lower()]
            forms += [str(struct.unpack(">i", four)[0]), str(struct.unpack("<i", four)[0])]
            forms += [str(struct.unpack(">q", secret[at : at + 8])[0])] if at + 8 <= len(secret) else []
            found += [form for form in forms if form.encode() in low]
            found += [form for form in (base64.b64encode(six).decode(), six.decode("latin-1")) if form.encode("latin-1") in shown]
    return found


def everything(done: Any) -> bytes:
    return bytes(done.out) + done.err.encode()


@pytest.mark.parametrize("form", [[], ["--threads", "2", "--columns", ",".join(name for name in UNDECODED if name != "internal")]])
def test_json_lines_hold_lengths_and_hashes(log: Path, key_file: Path, form: list[str]):
    assert leaks(everything(run("cat", log, *form)))
    done = run("cat", log, "--redact-key", key_file, *form)
    assert (done.code, leaks(everything(done))) == (0, [])
    plain = run("cat", log, *form).lines
    assert len(done.lines) == len(plain) >= 16
    for line, record in zip(done.lines, plain, strict=True):
        assert list(line) == list(record)
        assert {name: line[name] for name in OPEN_COLUMNS & line.keys()} == {name: record[name] for name in OPEN_COLUMNS & record.keys()}
    assert done.lines[0]["key"] == sealed(KEYS[0])
    assert (done.lines[2]["key"], done.lines[3]["value"]) == (None, None)
    if log.parent.parent.name.startswith("v2"):
        assert done.lines[0]["headers"] == [{"key": "trace-id", "value": sealed(HEADER)}, {"key": "empty", "value": None}]


def sealed(payload: bytes) -> dict[str, Any]:
    """The rule, told a second time."""
    return {"length": len(payload), "hash": hmac.new(KEY, payload, hashlib.sha256).hexdigest()[:24]}


def test_json_lines_are_the_same_byte_for_byte(tmp_path: Path, key_file: Path):
    """Names of headers and topics are ASCII, and text where they are UTF-8; every other field is written as without --redact."""
    headers = [{"key": b"n\xc3\xa9\x7f\x1b[2J", "value": b"\xff"}, {"key": b"\xff\xfe", "value": None}, {"key": b'"', "value": b""}]
    rows = pa.table(
        {
            "key": pa.array([b"a", None], pa.binary()),
            "value": pa.array([b"", b"b"], pa.binary()),
            "timestampMs": [1_700_000_000_123, 400_000_000_000_000],
            "headersRaw": pa.array([headers, []], pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))),
        }
    )
    log = tmp_path / "named.log"
    log.write_bytes(ls.encode(rows, base_offset=7) or b"")
    a, b, empty, raw = (json.dumps(sealed(payload), separators=(",", ":")) for payload in (b"a", b"b", b"", b"\xff"))
    name = '"key":"n\\u00e9\\u007f\\u001b[2J"'
    first = f'"headersRaw":[{{{name},"value":{raw}}},{{"key":{{"base64":"//4="}},"value":null}},{{"key":"\\"","value":{empty}}}]'
    expected = [
        f'{{"offset":7,"key":{a},"topic":"\\u00e9","timestamp":"2023-11-14T22:13:20.123Z","timestampType":"CreateTime","value":{empty},{first}}}',
        f'{{"offset":8,"key":null,"topic":"\\u00e9","timestamp":400000000000000,"timestampType":"CreateTime","value":{b},"headersRaw":[]}}',
    ]
    columns = "offset,key,topic,timestamp,timestampType,value,headersRaw"
    done = run("cat", log, "--topic", "\N{LATIN SMALL LETTER E WITH ACUTE}", "--redact-key", key_file, "--iso", "--columns", columns)
    assert (done.code, done.text.splitlines()) == (0, expected)
    millis = run("cat", log, "--redact-key", key_file, "--columns", "headers,timestamp,timestampMs,partition", "--since", "1700000000124")
    assert millis.text == '{"headers":[],"timestamp":400000000000000,"timestampMs":400000000000000,"partition":null}\n'
    only = run("cat", log, "--redact-key", key_file, "--columns", "headers", "--key", "a").lines
    assert [[header["key"] for header in line["headers"]] for line in only] == [["n\u00e9\x7f\x1b[2J", "\ufffd\ufffd", '"']]
    followed = run("follow", log, "--offset", "0", "--idle-exit", "0", "--redact-key", key_file, "--columns", columns, "--iso")
    assert followed.text == done.text.replace('"topic":"\\u00e9"', '"topic":null')


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_tables_hold_what_json_holds(v2: Path, key_file: Path, kind: str, tmp_path: Path):
    log, out = v2, tmp_path / f"out.{kind}"
    columns = "offset,key,value,headers,headersRaw"
    assert run("cat", log, f"--{kind}", out, "--columns", columns).code == 0
    assert leaks(repr(read(out).to_pylist()).encode())
    done = run("cat", log, f"--{kind}", out, "--redact-key", key_file, "--columns", columns, "--overwrite")
    assert (done.code, leaks(everything(done) + out.read_bytes())) == (0, [])
    rows = read(out)
    assert leaks(repr(rows.to_pylist()).encode() + str(rows.schema).encode()) == []
    assert rows.schema.field("key").type == pa.struct([("length", pa.int32()), ("hash", pa.string())])
    lines = run("cat", log, "--redact-key", key_file, "--columns", columns).lines
    for row, line in zip(rows.to_pylist(), lines, strict=True):
        assert row | {"headersRaw": None} == line | {"headersRaw": None}
        assert [header["key"].decode() for header in row["headersRaw"]] == [header["key"] for header in line["headersRaw"]]
        assert [header["value"] for header in row["headersRaw"]] == [header["value"] for header in line["headersRaw"]]
    empty = run("cat", log, f"--{kind}", out, "--redact-key", key_file, "--columns", columns, "--offset", "900..", "--quiet", "--overwrite")
    assert (empty.code, read(out).schema, read(out).num_rows) == (0, rows.schema, 0)


def read(path: Path) -> pa.Table:
    return pa.ipc.open_file(path).read_all() if path.suffix == ".arrow" else pq.read_table(path)


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_explain_shows_the_build_of_a_batch_and_none_of_its_payloads(log: Path, key_file: Path, form: str, tmp_path: Path):
    page = tmp_path / "batch.html"
    options = {"text": [], "json": ["--json"], "html": ["--html", str(page), "--overwrite"]}[form]
    for at in (0, ls.batches(ls.FileSource(log)).to_pylist()[-1]["position"]):
        plain = everything(run("explain", log, "--at", str(at), *options)) + (page.read_bytes() if page.exists() else b"")
        assert leaks(plain)
        done = run("explain", log, "--at", str(at), "--redact-key", key_file, *options)
        shown = everything(done) + (page.read_bytes() if page.exists() else b"")
        assert (done.code, leaks(shown)) == (0, [])
        assert sealed(VALUES[0])["hash"].encode() in shown
        assert sealed(KEYS[0])["hash"].encode() in shown


@pytest.mark.parametrize("depth", ["headers", "metadata", "full"])
def test_what_a_codec_packed_is_held_back_too(log: Path, depth: str):
    """Packed, a secret has other bytes; who has them unpacks them."""
    data = log.read_bytes()
    for row in ls.batches(data).to_pylist():
        root = redacted(ls.inspect(data, at=row["position"], depth=depth, value_bytes=1 << 20), Redactor(KEY))
        kept = {field.name for _, field in root.walk() if field.raw}
        assert kept <= NUMBERS | {"headerKey"}
        assert {field.raw for _, field in root.walk() if field.name == "magic"} <= {b"\x00", b"\x01", b"\x02", SNAPPY, LZ4}
        assert not any(isinstance(field.value, bytes) for _, field in root.walk() if field.name not in ("headerKey", "magic"))


#: What tells where a record begins and ends and which one it is; what packs records begins with the same bytes always.
NUMBERS = {"baseOffset", "batchLength", "partitionLeaderEpoch", "magic", "attributes", "lastOffsetDelta", "baseTimestamp", "maxTimestamp"}
NUMBERS |= {"producerId", "producerEpoch", "baseSequence", "recordsCount", "offset", "size", "timestamp", "length", "timestampDelta"}
NUMBERS |= {"offsetDelta", "keyLength", "valueLength", "headersCount", "headerKeyLength", "headerValueLength"}
SNAPPY, LZ4 = b"\x82SNAPPY\x00", bytes.fromhex("04224d18")


def test_hashes_agree_under_one_key_and_else_not(v2: Path, key_file: Path):
    def hashes(*options: Any, **environment: str) -> list[str]:
        return [line["value"]["hash"] for line in run("cat", v2, "--columns", "value", "-n", "3", *options, **environment).lines]

    first = hashes("--redact-key", key_file)
    assert first[0] == first[2] != first[1]
    assert hashes("--redact-key", key_file) == first
    assert hashes("--redact", LOGSEGMENT_REDACT_KEY=KEY.decode()) == first
    assert hashes("--redact", "--redact-key", key_file, LOGSEGMENT_REDACT_KEY="another key of some length") == first
    once, twice = hashes("--redact"), hashes("--redact")
    assert once[0] == once[2]
    assert len({first[0], once[0], twice[0]}) == 3
    assert "random key" in run("cat", v2, "--redact", "-n", "1").err
    assert run("cat", v2, "--redact", "-n", "1", "--quiet").err == ""


def test_a_variable_alone_redacts_nothing(v2: Path):
    assert leaks(run("cat", v2, LOGSEGMENT_REDACT_KEY=KEY.decode()).out)


def test_keys_that_are_none_are_a_mistake_before_anything_is_shown(v2: Path, tmp_path: Path):
    short = tmp_path / "short.key"
    short.write_bytes(b"0123456789abcde\n")
    for verb in ("cat", "explain"):
        for key, words in [(short, "at least 16 bytes"), (tmp_path / "none", "No such file")]:
            done = run(verb, v2, "--redact-key", key)
            assert (done.code, done.out) == (2, b"")
            assert words in done.err
            assert b"0123456789" not in everything(done)
    done = run("cat", v2, "--redact", "--bytes", "hex")
    assert (done.code, done.out) == (2, b"")


@pytest.fixture
def broken(tmp_path: Path) -> tuple[Path, int, int]:
    """Three batches; the second says that it ends inside of a value of its own. With where it begins and ends."""
    parts = [ls.encode(table(), base_offset=4 * at) or b"" for at in range(3)]
    second = bytearray(parts[1])
    struct.pack_into(">i", second, 8, parts[1].index(VALUES[0]) - 12 + 2)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(parts[0] + bytes(second) + parts[2])
    return path, len(parts[0]), len(parts[0] + parts[1])


def test_messages_about_damage_do_not_show_an_invalid_length(broken: tuple[Path, int, int], key_file: Path):
    path, begin, _ = broken
    options = ["--no-crc", "--columns", "offset"]
    done = run("cat", path, "--redact-key", key_file, *options)
    assert (done.code, leaks(everything(done))) == (1, [])
    assert f"at byte {begin:,}" in done.err or "at byte" in done.err
    assert "hidden by --redact" in done.err
    done = run("cat", path, "--redact-key", key_file, "--on-error", "skip")
    assert (done.code, leaks(everything(done))) == (1, [])
    assert [line["offset"] for line in done.lines] == [*range(4), *range(8, 12)]


def test_verbs_that_show_places_hold_back_what_they_met_in_damage(tmp_path: Path):
    """Of the second batch the beginning is gone, so that what is left of it begins with a value, of which a piece is taken for a length."""
    path, intact = tmp_path / "00000000000000000000.log", tmp_path / "intact.log"
    parts = [ls.encode(table(), base_offset=4 * at) or b"" for at in range(3)]
    intact.write_bytes(b"".join(parts))
    path.write_bytes(parts[0] + parts[1][parts[1].index(VALUES[0]) :] + parts[2])
    length = f"{struct.unpack('>i', VALUES[0][8:12])[0] + 12}".encode()
    for command in (
        ["find", path, "--key", KEYS[1].decode()],
        ["find", path, "--key", "none", "--on-error", "skip"],
        ["diff", path, intact],
        ["diff", "--json", path, intact],
    ):
        shown, done = run(*command), run(*command, "--redact")
        assert (shown.code, length in everything(shown)) == (done.code, True)
        assert done.code > 0
        assert (length in everything(done), leaks(everything(done))) == (False, [])
        assert b"hidden by --redact" in everything(done)
        assert str(len(parts[0])) in everything(done).decode()
    (damage,) = [line for line in run("diff", "--json", "--redact", path, intact).lines if line["type"] == "damage"]
    assert (damage["rule"], damage["baseOffset"], damage["lastOffset"]) == ("COD-6", None, None)


def test_explain_of_a_damaged_batch_shows_position_and_damage_and_no_bytes(broken: tuple[Path, int, int], key_file: Path):
    path, begin, end = broken
    done = run("explain", path, "--at", str(begin), "--redact-key", key_file)
    assert (done.code, leaks(everything(done))) == (1, [])
    assert "error V2-31" in done.text
    assert "baseOffset" not in done.text
    assert "notShown" in done.text
    assert f"batch at byte {begin:,}" in done.text
    assert run("explain", path, "--at", str(end), "--redact-key", key_file).code == 0
    inside = run("explain", path, "--at", str(begin + 80), "--redact-key", key_file)
    assert (inside.code, inside.out, leaks(everything(inside))) == (2, b"", [])
    assert "may be part of a value" in inside.err
    stream = run("explain", "-", "--at", str(begin), "--redact-key", key_file, stdin=path.read_bytes())
    assert (stream.code, stream.out) == (2, b"")


def one(kind: str, base_offset: int = 0) -> bytes:
    """An entry, of Kafka 0.7 as ByteBufferMessageSet writes it."""
    if kind != "0.7":
        return ls.encode(table(has_headers=kind == "v2"), format=kind, base_offset=base_offset) or b""
    payload = VALUES[0] + VALUES[1]
    return struct.pack(">iBBI", len(payload) + 6, 1, 0, zlib.crc32(payload)) + payload


def headers_gone(kind: str) -> list[bytes]:
    """An intact entry, then one with values in its header: written over it, or moved into it since bytes before them are gone."""
    whole, later = one(kind), one(kind, 4)
    payload = VALUES[0] + VALUES[1][:18]
    value = later.index(VALUES[0])
    over = [whole + later[:at] + payload[:length] + later[at + length :] for at in range(min(60, len(later))) for length in (4, 8, 16, 40)]
    cut = [whole + later[:at] + later[value:] + whole for at in range(min(61, value))]
    return over + cut


@pytest.mark.parametrize("kind", ["0.7", "v0", "v1", "v2"])
@pytest.mark.slow
def test_a_header_with_a_wrong_checksum_is_not_trusted(kind: str):
    """V2-31, L8-8, L7-12: what stands in the place of a header may be part of a value."""
    seen = bare = 0
    at = len(one(kind))
    for data in headers_gone(kind):
        root = ls.inspect(data, at=at, value_bytes=1 << 20, format=kind if kind == "0.7" else "auto")
        if is_valid_entry(root):
            continue
        seen += 1
        bare += bool(leaks(repr(root).encode()))
        shown = redacted(root, Redactor(KEY))
        assert leaks((repr(shown) + json.dumps(shown.to_dict()) + shown._repr_html_()).encode()) == []
        if not any(field.note.endswith(": matches") for field in root):
            assert [(field.raw, field.value) for _, field in shown.walk()] == [(b"", None)] * (1 + len(shown))
    assert seen > 50
    assert bare > 10


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_explain_shows_no_value_of_a_header(form: str, key_file: Path, tmp_path: Path):
    page = tmp_path / "batch.html"
    options = {"text": [], "json": ["--json"], "html": ["--html", str(page)]}[form]
    path = tmp_path / "00000000000000000000.log"
    first = ls.encode(table()) or b""
    second = ls.encode(table(), base_offset=4) or b""
    value = second.index(VALUES[0])
    for damaged in (second[:23] + VALUES[0] + second[45:], second[:17] + second[value:] + b"\0" * (value - 17)):
        path.write_bytes(first + damaged + first)
        for where in (["--at", str(len(first))], ["--offset", "4"]):
            plain = run("explain", path, *where, *options)
            assert leaks(everything(plain) + (page.read_bytes() if page.exists() else b""))
            page.unlink(missing_ok=True)
            done = run("explain", path, *where, "--redact-key", key_file, *options)
            assert (done.code, leaks(everything(done) + (page.read_bytes() if page.exists() else b""))) == (1, [])
            page.unlink(missing_ok=True)


def test_no_position_that_is_asked_for_shows_payloads_as_if_they_were_a_header(broken: tuple[Path, int, int]):
    data = broken[0].read_bytes()
    begins = {0} | {row["position"] + row["size"] for row in ls.batches(data, on_error="skip").to_pylist() if row["isValid"]}
    told = refused = 0
    for at in range(len(data)):
        root = ls.inspect(data, at=at, value_bytes=1 << 20)
        if not is_valid_entry(root) and at not in begins:
            refused += 1
            continue
        told += 1
        root = redacted(root, Redactor(KEY))
        assert leaks((repr(root) + json.dumps(root.to_dict()) + root._repr_html_()).encode()) == []
    assert (told, refused) == (3, len(data) - 3)


def test_damage_of_every_kind_is_reported_without_bytes_of_records():
    """Of a damaged entry the header stands alone, with the rules of all that is wrong."""
    seen = 0
    for path in sorted((corpus.TESTS / "hostile/data").glob("*.log")):
        data = path.read_bytes()
        for at in {finding.position for finding in ls.validate(data).findings if finding.position < len(data)}:
            root = ls.inspect(data, at=at, value_bytes=1 << 20)
            if is_valid_entry(root):
                continue
            shown = redacted(root, Redactor(KEY))
            assert [shown.children, *(field.children for field in shown)] == [shown.children] + [()] * len(shown)
            assert all(field.start + field.length <= at + 61 for field in shown if field.raw)
            assert "stored" not in repr(shown)
            assert rules(shown) == rules(root)
            seen += 1
    assert seen > 200


def rules(root: ls.Field) -> list[str]:
    return sorted(problem.rule for _, field in root.walk() for problem in field.problems)


def test_internal_records_say_only_of_which_type_they_are(key_file: Path, tmp_path: Path):
    partition = MODERN / "__consumer_offsets-1"
    lines = run("cat", partition, "--values", "internal").lines
    groups = {json.dumps(line["internal"]["key"].get("group")) for line in lines if line["internal"]}
    secrets = [group.strip('"').encode() for group in groups if len(group) > 10]
    secrets += [base64.b64encode(secret)[4:-4] for secret in secrets] + [secret.hex().encode() for secret in secrets]
    assert any(secret in run("cat", partition, "--values", "internal").out for secret in secrets)
    done = run("cat", partition, "--values", "internal", "--redact-key", key_file, "--columns", "key,value,internal")
    assert (done.code, [secret for secret in secrets if secret in everything(done)]) == (0, [])
    assert {tuple(line["internal"]) for line in done.lines} == {("type",)}
    assert "OFFSET_COMMIT" in {line["internal"]["type"] for line in done.lines}
    out = tmp_path / "out.arrow"
    assert run("cat", partition, "--values", "internal", "--control", "--redact-key", key_file, "--arrow", out).code == 0
    assert [secret for secret in secrets if secret in out.read_bytes()] == []
    assert read(out).schema.field("internal").type == pa.struct([("type", pa.string())])


def test_findings_do_not_say_the_version_that_bytes_were_taken_for(tmp_path: Path, key_file: Path):
    path = tmp_path / "a.log"
    path.write_bytes(ls.encode(pa.table({"key": [b"\x4e\x21 key"], "value": [b"\x4e\x22 value"]})) or b"")
    command = ["cat", path, "--values", "internal", "--topic", "__consumer_offsets"]
    assert "20001" in run(*command).err
    assert "20001" not in run(*command, "--redact-key", key_file).err


def test_every_column_is_known_to_be_open_or_replaced():
    assert OPEN_COLUMNS | {"key", "value", "headers", "headersRaw", "internal"} == set(UNDECODED)
    assert not OPEN_COLUMNS & {"key", "value", "headers", "headersRaw", "internal"}
    (headers,) = ls.batches(entries("v2")).to_batches()
    with pytest.raises(ValueError, match="the column position cannot be redacted"):
        Redactor(KEY).json_lines(headers, [("position", "position")], iso=False)
    with pytest.raises(ValueError, match="the column rawBytes cannot be redacted"):
        Redactor(KEY).arrow_batch(pa.RecordBatch.from_pydict({"rawBytes": [b"secret"]}))

"""`logsegment plugins train` and `logsegment.train_dictionary`: a zstd dictionary out of real segments, and the codec that uses it."""

from __future__ import annotations

import importlib.util
import io
import json
import random
from base64 import b64decode

import pyarrow as pa
import pytest

import building
import cli_process
import corpus
import logsegment as ls
from cli_process import Done
from logsegment._core import RecordSections
from logsegment._options import ReadOptions
from logsegment.analysis.train_dictionary import _Samples, _trained
from logsegment.plugins import FileRegistry, MemoryRegistry, Plugin

#: Written by Kafka 4.1 with every codec: 15 batches of all kinds each.
SEGMENTS = [cli_process.MODERN / f"codec-{codec}-0/00000000000000000000.log" for codec in ("none", "gzip", "snappy", "lz4", "zstd")]
CLASSES = ("--alias", "orders", "--java-class", "org.example.OrdersZstd")

pytestmark = pytest.mark.skipif(importlib.util.find_spec("zstandard") is None, reason="zstandard is not installed")


def sources() -> list[ls.FileSource]:
    return [ls.FileSource(str(path)) for path in SEGMENTS]


def test_a_dictionary_of_real_segments_serves_the_codec_it_is_for():
    trained = ls.train_dictionary(sources())
    assert trained == ls.train_dictionary(sources()), "the same segments give the same dictionary"
    assert len(trained.dictionary) <= 112_640
    assert trained.held_out == (trained.samples + trained.held_out) // 5 > 5
    assert trained.dictionary_bytes < trained.zstd_bytes < trained.record_bytes
    codecs = MemoryRegistry([trained.plugin("orders", "org.example.OrdersZstd").entry("python", 4)])
    packed = ls.convert(sources()[0], compression="orders", codecs=codecs).data
    assert packed is not None
    zstd = ls.convert(sources()[0], compression="zstd").data
    assert zstd is not None
    assert len(packed) < len(zstd)
    columns = ["offset", "key", "value", "headers", "timestampMs"]
    expected = corpus.rows_of(ls.decode(sources()[0], columns=columns))
    assert corpus.rows_of(ls.decode(packed, columns=columns, codecs=codecs)) == expected
    again = ls.train_dictionary([packed], samples=20, codecs=codecs)
    assert 10 <= again.samples + again.held_out <= 20


def test_from_segments_to_a_registered_plugin(here, tmp_path):
    """Train, register, write: three lines of a shell."""
    made, registry = tmp_path / "orders.json", tmp_path / "plugins.json"
    done = here("plugins", "train", *SEGMENTS, *CLASSES, "-o", made)
    assert done.code == 0, done.err
    trained = ls.train_dictionary(sources())
    [fields] = json.loads(made.read_text())
    assert b64decode(fields["dictionary"]) == trained.dictionary
    assert done.text.startswith(f"dictionary: {len(trained.dictionary):,} bytes from {trained.samples} batches\n")
    assert f"{trained.dictionary_bytes:,}" in done.text
    assert here("plugins", "register", "--registry", registry, made).code == 0
    smaller = tmp_path / "smaller.log"
    assert here("convert", SEGMENTS[3], "-o", smaller, "--compression", "orders", "--registry", registry).code == 0
    codecs = FileRegistry(registry)
    assert {row["compression"] for row in corpus.rows_of(ls.batches(ls.FileSource(str(smaller)), codecs=codecs))} >= {"orders"}
    assert ls.decode(ls.FileSource(str(smaller)), codecs=codecs).read_all().num_rows == 240


def test_the_dictionary_itself_is_of_the_size_that_was_asked_for(here, tmp_path):
    made = tmp_path / "orders.dict"
    assert here("plugins", "train", *SEGMENTS, "-o", made, "--size", 1024, "--samples", 30, "-q") == Done(0, b"", "")
    assert made.read_bytes() == ls.train_dictionary(sources(), size=1024, samples=30).dictionary
    assert len(made.read_bytes()) <= 1024
    assert made.read_bytes()[:4] == bytes.fromhex("37a430ec"), "the magic of zstd's dictionaries"


def test_without_a_dictionary_there_is_no_file(here, tmp_path):
    made = tmp_path / "orders.dict"
    made.write_bytes(b"before")
    damaged = tmp_path.parent / "damaged.log"
    content = bytearray(SEGMENTS[3].read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged.write_bytes(content)
    for arguments, code, text in (
        ((damaged,), 1, f"{damaged}: "),
        ((SEGMENTS[0], "--alias", "orders"), 2, "--alias and --java-class must be given together"),
        ((cli_process.DAMAGED,), 2, "not from 3 batches"),
        ((SEGMENTS[0], "--size", 3), 2, "--size"),
        ((SEGMENTS[0], "--samples", 19), 2, "--samples"),
    ):
        done = here("plugins", "train", *arguments, "-o", made, "--overwrite")
        assert (done.code, done.out) == (code, b""), done.err
        assert text in done.err
        assert (made.read_bytes(), list(tmp_path.iterdir())) == (b"before", [made])


def test_the_dictionary_goes_to_stdout_and_its_report_to_stderr(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained = ls.train_dictionary(sources())
    done = cli_process.run("plugins", "train", *SEGMENTS, "-o", "-")
    assert (done.code, done.out) == (0, trained.dictionary)
    assert done.err.startswith(f"dictionary: {len(trained.dictionary):,} bytes from {trained.samples} batches\n")
    assert cli_process.run("plugins", "train", *SEGMENTS, "-o", "-", "-q") == Done(0, trained.dictionary, "")
    listed = cli_process.run("plugins", "train", *SEGMENTS, *CLASSES, "-o", "-", "-q")
    assert b64decode(json.loads(listed.out)[0]["dictionary"]) == trained.dictionary
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_gets_no_dictionary_but_a_list(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = cli_process.run_on_terminal("plugins", "train", *SEGMENTS, "-o", "-", "-q", out=True, err=False)
    assert (done.code, done.out) == (2, b"")
    assert "standard output is a terminal, and a dictionary is binary" in done.err
    done = cli_process.run_on_terminal("plugins", "train", *SEGMENTS, *CLASSES, "-o", "-", "-q", out=True, err=False)
    assert (done.code, json.loads(done.out)[0]["pluginAlias"]) == (0, "orders")
    assert list(tmp_path.iterdir()) == []


def test_segments_that_plugins_wrote_are_learnt_from_with_their_registry(here, tmp_path):
    registry, packed, made = tmp_path / "plugins.json", tmp_path / "packed.log", tmp_path / "orders.dict"
    small = Plugin("small", {"java": "org.example.Bzip2", "python": "logsegment.plugins.ready:Bzip2"}, "v1.0")
    FileRegistry(registry).register([small])
    assert here("convert", SEGMENTS[0], "-o", packed, "--compression", "small", "--registry", registry).code == 0
    expected = ls.train_dictionary([ls.FileSource(str(SEGMENTS[0]))]).dictionary
    done = here("plugins", "train", packed, "-o", made, "-q")
    assert (done.code, made.exists()) == (2, False)
    assert "[S-P19]" in done.err
    assert "plugin:0" in done.err
    assert here("plugins", "train", packed, "-o", made, "-q", "--registry", registry) == Done(0, b"", "")
    assert made.read_bytes() == expected
    done = here("plugins", "train", packed, "-o", made, "-q", "--registry", registry, "--bootstrap-servers", "127.0.0.1:9")
    assert (done.code, "no registry; pass --registry or --bootstrap-servers" in done.err) == (2, True)
    done = here("plugins", "train", packed, "-o", made, "-q", "--overwrite", "--registry", SEGMENTS[0])
    assert (done.code, "is not a registry" in done.err) == (2, True)


@pytest.mark.parametrize(("alias", "said"), [("gzip", "'gzip' is a built-in name"), ("two words", "'two words' is not a name")])
def test_an_alias_that_register_would_refuse_is_refused_before_anything_is_read(here, tmp_path, alias, said):
    """S-P14."""
    damaged, made = tmp_path.parent / "no-segment.log", tmp_path / "orders.json"
    damaged.write_bytes(b"no segment at all")
    done = here("plugins", "train", damaged, "--alias", alias, "--java-class", "org.example.OrdersZstd", "-o", made)
    assert (done.code, done.out) == (1, b"")
    assert f"plugin-java-topic: error [S-P14] {said}" in done.err
    assert done.err.endswith("logsegment: nothing was written\n")
    assert list(tmp_path.iterdir()) == []
    done = here("plugins", "train", damaged, "--alias", "", "--java-class", "org.example.OrdersZstd", "-o", made)
    assert (done.code, "pluginAlias is empty" in done.err) == (2, True)


@pytest.mark.parametrize(("size", "samples"), [(255, 1000), (None, 19)])
def test_what_can_be_no_dictionary_is_refused(size, samples):
    with pytest.raises(ValueError, match="needs 20 samples and 256 bytes at least"):
        ls.train_dictionary(sources(), size=size, samples=samples)


def test_batches_with_too_little_in_them():
    tiny = ls.encode(pa.table({"value": [b""]}))
    with pytest.raises(ValueError, match=r"bytes at least, not .*56 bytes in 8 batches"):
        ls.train_dictionary([tiny] * 10)


def test_the_least_that_is_learnt_from():
    """Below it the trainer of the package zstandard does not survive some samples."""
    letters = random.Random(984)
    records = [bytes(letters.choices(b"abcdefgh", k=320)) for _ in range(10)]
    trained = _trained(records, None, 3)
    assert (trained.samples, trained.held_out, 0 < len(trained.dictionary) <= 256) == (8, 2, True)
    with pytest.raises(ValueError, match=r"2,560 bytes at least, not .*2,552 bytes in 8 batches"):
        _trained([record[:-1] for record in records], None, 3)


def test_samples_lie_evenly_and_are_whole_batches_whatever_the_pieces():
    batches = [building.batch(building.record(value=b"%05d" % number), count=1, base_offset=number) for number in range(100)]
    control = building.batch(building.record(key=bytes(4), value=bytes(6)), count=1, base_offset=100, attributes=0x30)
    data = control + b"".join(batches) + control
    for torn in (0, 1, 60, 61, 70):
        samples = _Samples(30)
        for source in (data + batches[0][:torn], io.BytesIO(data), batches[4]):
            for sections in RecordSections(source, ReadOptions()):
                for records in sections:
                    samples.add(records)
        assert samples.records == [batch[61:] for batch in [*batches, *batches, batches[4]][::8]]

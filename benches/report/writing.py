"""Encoding beside the peers, and converting."""

from benches.report.peers import SHAPES
from benches.report.tables import markdown
from benches.thresholds import ENCODE_SHAPES


def encode_section(encode):
    lines = [
        "## Encoding, compared with the peers",
        "",
        "From records ready in memory (an Arrow table for logsegment, each peer's own records for it) to record batches: the",
        "same records in the same batches at the same level, one thread. MB/s of uncompressed bytes, best of the repeats. What",
        "each wrote was decoded again outside the clock and held the same records. gzip-6 is gzip at level 6, lz4 is the fast",
        "compressor that Kafka takes at its level 9, lz4-hc4 and lz4-hc8 LZ4's high compression at these levels; aiokafka and",
        "kafka-protocol have one fixed level a codec.",
        "",
    ]
    for shape in ENCODE_SHAPES:
        cases = {case.split()[1]: found for case, found in encode["cases"].items() if case.startswith(f"{shape} ")}
        if cases:
            lines += [f"### {SHAPES[shape]}", "", "MB/s:", "", *encode_table(encode["names"], cases, encode_speed), ""]
            lines += ["Bytes written for 1000 bytes uncompressed:", "", *encode_table(encode["names"], cases, encoded_size), ""]
    return "\n".join(lines)


def encode_table(names, cases, value):
    rows = [[name, *(encode_text(case, identity, value) for case in cases.values())] for identity, name in names.items()]
    return markdown(["contestant", *cases], rows)


def encode_text(case, identity, value):
    cell = case["cells"].get(identity)
    if cell is None:
        return "-"
    return "fails" if "error" in cell else value(case, cell)


def encode_speed(case, cell):
    return f"{case['uncompressed_bytes'] / cell['min'] / 1e6:.0f}"


def encoded_size(case, cell):
    return f"{cell['bytes'] / case['uncompressed_bytes'] * 1000:.0f}"


def convert_section(convert):
    rows = [convert_row(name, row) for name, row in convert["up"].items()]
    fixed = convert["fix_lz4"]
    lines = [
        "## Converting",
        "",
        "Magic 1 to magic 2 with the codec kept, in pieces of 1 MiB, compared with decoding to columns and encoding these; MB/s of",
        "stored bytes.",
        "",
        *markdown(["corpus", "decode + encode", "convert", "ratio"], rows),
        "",
        f"`fix_lz4` over {fixed['frames']} frames of about 16 KiB: {fixed['bytes'] / fixed['seconds'] / 2**30:.2f} GiB/s.",
        "",
    ]
    return "\n".join(lines)


def convert_row(name, row):
    speeds = [f"{row['bytes'] / row[way] / 1e6:.0f}" for way in ("decode_encode", "convert")]
    return [name, *speeds, f"{row['decode_encode'] / row['convert']:.2f}"]


def rewrite_section(rows):
    """Rows of codecs, and last the one of a million keys."""
    *codecs, keys = rows
    table = [rewrite_row(row) for row in codecs]
    lines = [
        "## Rewriting",
        "",
        "`rewrite` that drops a record of each hundredth batch of about 19 KB, compared with `validate` and a copy of the file, both",
        "synced; seconds, best of the rounds, and of all threads. The ratio is the time of validate and copy over that of the rewrite.",
        "",
        *markdown(["codec", "MB", "validate + copy", "rewrite", "ratio", "CPU", "rewrite, CPU"], table),
        "",
        f"Dropping {keys['keys']:,} keys, half of those of a log of {keys['bytes'] / 2**30:.1f} GiB in partitions that are links to one",
        f"segment: {keys['dropped']:,} records went in {keys['seconds']:.1f} s, with a peak of {keys['peak_mib']:,} MiB",
        f"({keys['idle_mib']:,} MiB before it began, with the Arrow array of keys).",
        "",
    ]
    return "\n".join(lines)


def rewrite_row(row):
    seconds = [f"{row[name]:.2f}" for name in ("verify_copy", "rewrite")]
    cpu = [f"{row[name]:.2f}" for name in ("verify_copy_cpu", "rewrite_cpu")]
    return [row["codec"], f"{row['bytes'] / 1e6:.0f}", *seconds, f"{row['ratio']['best']:.2f}", *cpu]

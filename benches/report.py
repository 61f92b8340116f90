"""docs/benchmarks.md out of benches/results.json. `python -m benches.report` writes it again without measuring."""

import json

from benches.paths import REPORT, RESULTS
from benches.thresholds import CODECS, ENCODE_SHAPES, MESSAGE_SET_CASES, checks

SHAPES = {
    "small": "16 KiB producer batches, JSON values of about 120 bytes, 16-byte keys",
    "headers": "Records with 3 headers, 16 KiB batches, headers column built",
    "smallbig": "The small records in 1 MiB batches",
    "large": "4 KiB values, 1 MiB batches",
}
INTRODUCTION = """# Benchmarks

<!-- Written by `make bench` from benches/results.json. Do not edit. -->

Every contestant decodes the same bytes, already in memory, to offset, timestamp, key and value of every record, CRCs
checked, everything decompressed. A checksum over all of it, made outside the clock, proves equal work. One thread unless
the row says otherwise. MB/s is uncompressed bytes a second, best of the repeats. For logsegment the columns are Arrow
columns in Python's hands, and the touch of each column by pyarrow is inside the clock.

The floor is what the bytes cost when nothing is wasted: CRC-32C, decompression, and one pass that copies into column
buffers that are reused. It panics on bad input and is no library. How the peers are driven:
[benches/peers](../benches/peers/README.md).
"""


def main():
    write(json.loads(RESULTS.read_text()))


def write(results):
    """Write the report of `results` to docs/benchmarks.md."""
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    sections = [INTRODUCTION, machine_section(results["machine"])]
    sections += [make(results[name]) for name, make in SECTIONS.items() if name in results]
    sections.append(threshold_section(results))
    REPORT.write_text("\n".join(sections))


def machine_section(machine):
    lines = ["## Machine", "", *markdown(["what", "value"], [[key, str(value)] for key, value in machine.items()])]
    return "\n".join([*lines, ""])


def peers_section(peers):
    lines = ["## Decoding, beside the peers", ""]
    for shape, title in SHAPES.items():
        cases = [f"{shape}-{codec}" for codec in CODECS if f"{shape}-{codec}" in peers["cells"]]
        if cases:
            lines += [f"### {title}", "", "MB/s:", "", *matrix(peers, cases, speed), ""]
            lines += ["Times the floor's time:", "", *matrix(peers, cases, times_floor), ""]
    lines += ["### Two threads", "", "Times the speed of one thread:", "", *threads_table(peers["cells"]), ""]
    return "\n".join(lines)


def message_sets_section(peers):
    cases = [case for case in MESSAGE_SET_CASES if case in peers["cells"]]
    lines = ["## Decoding magic 1, beside the peers", "", "The small records in compressed wrapper messages of 16 KiB. MB/s:", ""]
    return "\n".join([*lines, *matrix(peers, cases, speed), ""])


def encode_section(encode):
    lines = [
        "## Encoding, beside the peers",
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
        "Magic 1 to magic 2 with the codec kept, in pieces of 1 MiB, beside decoding to columns and encoding these; MB/s of",
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


def matrix(peers, cases, value):
    rows = []
    for identity, name in peers["names"].items():
        row = [cell_text(peers["cells"][case], identity, value) for case in cases]
        if any(text != "-" for text in row):
            rows.append([name, *row])
    return markdown(["contestant", *cases], rows)


def cell_text(cells, identity, value):
    cell = cells.get(identity)
    if cell is None:
        return "-"
    return "fails" if "error" in cell else value(cells, cell)


def speed(cells, cell):
    return f"{cell['mb_s']:.0f}"


def times_floor(cells, cell):
    floor = cells.get("floor", {}).get("min")
    return f"{cell['min'] / floor:.2f}" if floor else "-"


def threads_table(cells):
    rows = []
    for shape in SHAPES:
        found = [cells.get(f"{shape}-{codec}", {}) for codec in CODECS]
        row = [gain(found_cells) for found_cells in found]
        if any(text != "-" for text in row):
            rows.append([shape, *row])
    return markdown(["shape", *CODECS], rows)


def gain(cells):
    one, two = (cells.get(identity, {}).get("min") for identity in ("ours", "ours-threads2"))
    return f"{one / two:.2f}" if one and two else "-"


def headers_section(headers):
    rows = [
        [name, f"{row['batches']}", f"{row['bare_loop'] * 1e6:.0f}", f"{row['ours'] * 1e6:.0f}", f"{row['ours'] / row['bare_loop']:.2f}"]
        for name, row in headers.items()
    ]
    lines = [
        "## Batch headers",
        "",
        "`batches(check_crc=False)` beside a bare Rust loop that reads every field of each",
        "61-byte header; microseconds for the whole segment.",
        "",
    ]
    return "\n".join([*lines, *markdown(["corpus", "batches", "bare loop", "logsegment", "ratio"], rows), ""])


def memory_section(rows):
    table = [
        [row["way"], row["corpus"], f"{row['bytes'] / 2**30:.2f}", f"{row['seconds']:.1f}", f"{row['peak_rss_mib']:.0f}"] for row in rows
    ]
    lines = ["## Memory", "", "Peak resident memory of the whole process that streams one segment, Python included.", ""]
    return "\n".join([*lines, *markdown(["way", "corpus", "GiB of segment", "seconds", "peak MiB"], table), ""])


def spark_section(rows):
    table = [spark_row(row) for row in rows]
    header = ["input", "door", "query", "Mrows/s", "ceiling", "share", "CPU us a row", "ceiling", "share"]
    lines = [
        "## Spark",
        "",
        "local[2], one run. The ceiling is Spark's own boundary: a stand-in that yields ready Arrow batches of the same",
        "schema, size and number, and decodes nothing. `consumed` sums the lengths of keys and values, `noop` writes to",
        "Spark's noop sink. CPU is that of the JVM and its Python workers.",
        "",
    ]
    return "\n".join([*lines, *markdown(header, table), ""])


def spark_row(row):
    ours, ceiling = row["ours"], row["ceiling"]
    rate = f"{ours['mrows_s'] / ceiling['mrows_s']:.0%}"
    cpu = f"{ceiling['cpu_us_per_row'] / ours['cpu_us_per_row']:.0%}"
    return [
        row["corpus"],
        row["door"],
        row["query"],
        f"{ours['mrows_s']:.2f}",
        f"{ceiling['mrows_s']:.2f}",
        rate,
        f"{ours['cpu_us_per_row']:.3f}",
        f"{ceiling['cpu_us_per_row']:.3f}",
        cpu,
    ]


def header_view_section(row):
    numbers = [f"{row['bytes'] / 2**30:.1f}", f"{row['partitions']}", f"{row['batches']}"]
    seconds = [f"{row[name]:.2f}" for name in ("loop", "view", "count")]
    lines = [
        "## Batch headers in Spark",
        "",
        "`view=batches`, all of its columns into Spark's noop sink, over hard links of one segment (small-none, in the page cache), on",
        "local[2]; beside it a loop on one thread that reads each header by position, takes its fields apart with `struct` and keeps",
        "nothing. The session is started before; planning and tasks are in the view's time. `count` is `count()` over the same view.",
        "",
    ]
    header = ["GiB", "partitions", "batches", "loop, s", "view, s", "count, s", "times"]
    return "\n".join([*lines, *markdown(header, [[*numbers, *seconds, f"{row['view'] / row['loop']:.2f}"]]), ""])


def slice_section(rows):
    table = [
        [
            row["corpus"],
            row["door"],
            f"{row['all'] * 1e3:.0f}",
            f"{row['slice'] * 1e3:.2f}",
            f"{row['all'] / row['slice']:.0f}",
            f"{row['slice_bytes'] / row['bytes']:.2%}",
            str(row.get("tasks") or ""),
        ]
        for row in rows
    ]
    lines = [
        "## 1 % of the offsets",
        "",
        "1 % of the offsets of a 1 GiB segment, read through the index beside it, near the beginning, the middle and the end, and all of",
        "it: by plain Python, and into Spark's noop sink on local[2] (planning is in the time), with the tasks that read a slice.",
        "",
    ]
    return "\n".join([*lines, *markdown(["corpus", "door", "all, ms", "1 %, ms", "times", "bytes read", "tasks"], table), ""])


def verify_section(found):
    row = found["verify"]
    gib = row["bytes"] / (1 << 30)
    peer = row.get("dump_log")
    table = [
        ["the floor", f"{row['floor']:.2f}", f"{gib / row['floor']:.2f}", "1.00"],
        *(
            [what, f"{row[key]:.2f}", f"{gib / row[key]:.2f}", f"{row[key] / row['floor']:.2f}"]
            for what, key in [("`ls.validate`", "validate"), ("`logsegment verify`, the whole program", "command")]
        ),
        *([["`kafka-dump-log --deep-iteration`", f"{peer:.1f}", f"{gib / peer:.3f}", f"{peer / row['floor']:.0f}"]] if peer else []),
    ]
    search = [[one["what"], f"{one['bytes'] / 1e6 / one['seconds']:.0f}"] for one in found["resync"]]
    lines = [
        "## Verifying, and the search past damage",
        "",
        f"A clean segment of {gib:.1f} GiB ({row['corpus']}), one thread.",
        "",
        *markdown(["what", "seconds", "GiB/s of the file", "times the floor's time"], table),
        "",
        "`ls.salvage` over bytes without an intact entry between two that are intact, MB/s:",
        "",
        *markdown(["bytes", "MB/s"], search),
        "",
    ]
    return "\n".join(lines)


def spark_kafka_section(rows):
    table = [spark_kafka_row(row) for row in rows]
    header = ["codec", "query", "Mrows/s", "Kafka source", "times", "CPU us a row", "Kafka source", "boundary", "decode", "broker"]
    lines = [
        "## Beside Spark's Kafka source",
        "",
        "The same topics of one Kafka 4.3.1 broker on this machine, two partitions of records of 100 bytes, in one run: ours over the",
        "broker's directory in Spark 4.3, Spark's own Kafka source in Spark 4.0.0 (the newest whose connector resolves whole), each on",
        "local[2]. The broker works on the same cores: its CPU is told apart, and its time is part of what a Kafka source waits for.",
        "The boundary is the CPU of the same rows ready made, decode that of plain Python.",
        "",
    ]
    return "\n".join([*lines, *markdown(header, table), ""])


def spark_kafka_row(row):
    ours, kafka = row["ours"], row["kafka"]
    cpu = [ours["cpu_us_per_row"], kafka["cpu_us_per_row"], row["ceiling"]["cpu_us_per_row"], row["plain_cpu_us_per_row"]]
    speed = [f"{ours['mrows_s']:.2f}", f"{kafka['mrows_s']:.2f}", f"{ours['mrows_s'] / kafka['mrows_s']:.1f}"]
    return [row["codec"], row["query"], *speed, *(f"{value:.3f}" for value in [*cpu, kafka["broker_cpu_us_per_row"]])]


PROPOSALS_TABLE = [
    ["built in", "1,000,000", "9,999.7", "3.42", "6", "352"],
    ["built in", "1,000,000", "9,999.6", "3.93", "7", "214"],
    ["built in", "1,000,000", "9,999.9", "3.41", "6", "226"],
    ["plugin", "1,000,000", "9,999.8", "3.54", "6", "120"],
    ["plugin", "1,000,000", "9,999.8", "3.40", "6", "131"],
    ["plugin", "1,000,000", "9,999.8", "3.55", "6", "59"],
]


def plugins_section(rows):
    of = {(row["codec"], row["batch_bytes"]): row for row in rows}
    table = [plugins_row(row, of[BUILT_IN[row["codec"]], row["batch_bytes"]]) for row in rows]
    header = ["codec", "batches", "decode, ms", "ratio", "us a batch", "encode, ms", "ratio", "us a batch"]
    lines = [
        "## Plugin codecs",
        "",
        "The experiment of the pluggable compression proposal (KIP-984), snappy built in beside snappy as a plugin. Its own table:",
        "a producer that is held to 10,000 records a second, which no codec could slow down; latencies in milliseconds.",
        "",
        *markdown(["snappy", "records", "records/s", "mean", "95th %", "max"], PROPOSALS_TABLE),
        "",
        "Here encode and decode are asked alone, at full speed: 60,000 values of 120 bytes, one thread, in turns of a few milliseconds.",
        "`native` and `python` run logsegment's own snappy, exported by a small crate ([benches/plugins](../benches/plugins/snappy)), as C",
        "functions and from the methods of a class of Python: nothing but the door differs. `stored` is a class that gives back what it",
        "is given, beside `none`. The ratio is the median of the rounds' ratios to what is built in; `us a batch` is the difference of the",
        "best times by the number of batches.",
        "",
        *markdown(header, table),
        "",
        "Where the microseconds go: what `stored` takes to decode is the call itself, one a batch. The interpreter is taken and given",
        "back, a view of the packed bytes is made, the method is called, what it gives is held, and let go inside the next call. `python`",
        "also writes to new memory where the built-in codec writes to its own again. A plugin of C functions has none of that. When",
        "encoding, what a plugin of Python gives is copied behind what was written before, which is most of `stored` at 1 MiB.",
        "",
    ]
    return "\n".join(lines)


#: What a plugin is held against.
BUILT_IN = {"snappy": "snappy", "native": "snappy", "python": "snappy", "none": "none", "stored": "none"}


def plugins_row(row, built_in):
    cells = [row["codec"], f"{row['batches']} of {row['batch_bytes'] >> 10} KiB"]
    for verb in ("decode", "encode"):
        is_plugin = row is not built_in
        more = (row[verb] - built_in[verb]) / row["batches"] * 1e6
        cells += [f"{row[verb] * 1e3:.2f}", f"{row[f'{verb}_ratio']:.3f}" if is_plugin else "", f"{more:.2f}" if is_plugin else ""]
    return cells


def plugins_before_section(found):
    rows = [
        [f"{row['verb']}, {row['codec']}", f"{row['before'] * 1e3:.2f}", f"{row['now'] * 1e3:.2f}", f"{row['ratio']:.3f}"]
        for row in sorted(found["rows"], key=lambda row: row["verb"])
    ]
    lines = [
        "## Without plugins",
        "",
        f"Decoding and encoding the same records without plugins, by commit {found['name']}, which knew of none, and by this one;",
        "processes of both take turns, milliseconds, best of all; the ratio is the median of the turns'.",
        "",
    ]
    return "\n".join([*lines, *markdown(["verb, codec", "before", "now", "ratio"], rows), ""])


def python_section(rows):
    table = [
        [
            row["name"],
            f"{row['min'] * 1e3:.2f}",
            f"{row['median'] * 1e3:.2f}",
            f"{row['bytes'] / row['min'] / 1e6:.0f}",
            f"{row['records'] / row['min'] / 1e6:.2f}",
        ]
        for row in sorted(rows, key=lambda row: row["name"])
    ]
    lines = ["## Python calls", "", "pytest-benchmark over the first 8 MiB of each corpus (bytes as stored).", ""]
    return "\n".join([*lines, *markdown(["bench", "min ms", "median ms", "MB/s stored", "Mrec/s"], table), ""])


def threshold_section(results):
    rows = []
    for check in checks(results):
        value = "not measured" if check.value is None else f"{check.value:.2f}"
        limit = f"{'at most' if check.at_most else 'at least'} {check.limit:g}"
        rows.append([check.rule, check.subject, value, limit, "held" if check.ok else "**missed**"])
    lines = ["## Thresholds", "", "As `make bench-check` compares them.", ""]
    return "\n".join([*lines, *markdown(["rule", "case", "value", "limit", ""], rows), ""])


def markdown(header, rows):
    """A Markdown table as lines; the first column to the left, the rest to the right."""
    align = "|---|" + "--:|" * (len(header) - 1)
    return [f"| {' | '.join(header)} |", align, *(f"| {' | '.join(row)} |" for row in rows)]


SECTIONS = {
    "peers": peers_section,
    "message_sets": message_sets_section,
    "encode": encode_section,
    "convert": convert_section,
    "headers": headers_section,
    "memory": memory_section,
    "slice": slice_section,
    "verify": verify_section,
    "spark": spark_section,
    "header_view": header_view_section,
    "spark_kafka": spark_kafka_section,
    "plugins": plugins_section,
    "plugins_before": plugins_before_section,
    "python": python_section,
}

if __name__ == "__main__":
    main()

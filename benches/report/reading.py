"""What plain Python and the command line do with a segment."""

from benches.report.tables import markdown


def headers_section(headers):
    rows = [
        [name, f"{row['batches']}", f"{row['bare_loop'] * 1e6:.0f}", f"{row['ours'] * 1e6:.0f}", f"{row['ours'] / row['bare_loop']:.2f}"]
        for name, row in headers.items()
    ]
    lines = [
        "## Batch headers",
        "",
        "`batches(check_crc=False)` and a bare Rust loop that reads every field of each",
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


def slice_section(rows):
    table = [
        [
            row["corpus"],
            row["entry_point"],
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
        "1 % of the offsets of a 1 GiB segment, read through its index, near the beginning, the middle and the end, and all of",
        "it: by plain Python, and into Spark's noop sink on local[2] (planning is in the time), with the tasks that read a slice.",
        "",
    ]
    return "\n".join([*lines, *markdown(["corpus", "API", "all, ms", "1 %, ms", "times", "bytes read", "tasks"], table), ""])


def verify_section(found):
    row = found["verify"]
    gib = row["bytes"] / (1 << 30)
    peer = row.get("dump_log")
    table = [
        ["checksum + decompress + copy", f"{row['baseline']:.2f}", f"{gib / row['baseline']:.2f}", "1.00"],
        *(
            [what, f"{row[key]:.2f}", f"{gib / row[key]:.2f}", f"{row[key] / row['baseline']:.2f}"]
            for what, key in [("`ls.validate`", "validate"), ("`logsegment verify`, the whole program", "command")]
        ),
        *([["`kafka-dump-log --deep-iteration`", f"{peer:.1f}", f"{gib / peer:.3f}", f"{peer / row['baseline']:.0f}"]] if peer else []),
    ]
    search = [[row["what"], f"{row['bytes'] / 1e6 / row['seconds']:.0f}"] for row in found["resync"]]
    lines = [
        "## Verifying, and the search past damage",
        "",
        f"A clean segment of {gib:.1f} GiB ({row['corpus']}), one thread.",
        "",
        *markdown(["what", "seconds", "GiB/s of the file", "times the reference"], table),
        "",
        "`ls.salvage` over bytes without an intact entry between two that are intact, MB/s:",
        "",
        *markdown(["bytes", "MB/s"], search),
        "",
    ]
    return "\n".join(lines)


def avro_values_section(rows):
    lines = [
        "## Avro values to Arrow",
        "",
        f"{rows[0]['rows']:,} values in Confluent's framing, in memory, one thread, one run, best of the rounds. arrow-avro gets the",
        "values back to back, logsegment an Arrow column of them; both give batches of 65,536 rows. fastavro decodes each value to Python",
        "objects, of which pyarrow makes a column. A sample of the rows is compared with fastavro's.",
        "",
    ]
    header = ["values", "bytes each", "logsegment, Mrows/s", "arrow-avro, Mrows/s", "time / arrow-avro", "times fastavro + pyarrow"]
    return "\n".join([*lines, *markdown(header, [avro_values_row(row) for row in rows]), ""])


def avro_values_row(row):
    speeds = [f"{row['rows'] / row[side]['best'] / 1e6:.2f}" for side in ("ours", "arrow_avro")]
    return [row["values"], str(row["value_bytes"] // row["rows"]), *speeds, f"{row['to_arrow_avro']:.2f}", f"{row['to_fastavro']:.0f}"]


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

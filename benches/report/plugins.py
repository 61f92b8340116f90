"""Plugin codecs."""

from benches.report.tables import markdown

#: Of the proposal: run, records a second, MB/s, and latencies in ms.
PROPOSALS_TABLE = [
    ["built in, run 1", "1,000,000", "9,999.70", "9.86", "3.00", "3.42", "6.00", "7.00", "27.00", "352.00"],
    ["built in, run 2", "1,000,000", "9,999.60", "9.86", "4.00", "3.93", "7.00", "7.00", "14.00", "214.00"],
    ["built in, run 3", "1,000,000", "9,999.90", "9.86", "3.00", "3.41", "6.00", "7.00", "7.00", "226.00"],
    ["plugin, run 1", "1,000,000", "9,999.80", "9.86", "3.00", "3.54", "6.00", "7.00", "31.00", "120.00"],
    ["plugin, run 2", "1,000,000", "9,999.80", "9.86", "3.00", "3.40", "6.00", "7.00", "9.00", "41.00"],
    ["plugin, run 3", "1,000,000", "9,999.80", "9.86", "4.00", "3.55", "6.00", "7.00", "13.00", "59.00"],
]
PACED_HEADER = ["snappy", "records", "records/s", "MB/s", "50th %", "mean", "95th %", "99th %", "99.9th %", "max"]
#: How the codecs of the paced run are called, by their names.
CALLED = {"snappy": "built in", "native": "plugin of C functions", "python": "plugin of Python"}
#: What a plugin is held against.
BUILT_IN = {"snappy": "snappy", "native": "snappy", "python": "snappy", "none": "none", "stored": "none"}


def plugins_section(rows):
    of = {(row["codec"], row["batch_bytes"]): row for row in rows}
    table = [plugins_row(row, of[BUILT_IN[row["codec"]], row["batch_bytes"]]) for row in rows]
    header = ["codec", "batches", "decode, ms", "ratio", "us a batch", "encode, ms", "ratio", "us a batch"]
    lines = [
        "## Plugin codecs",
        "",
        "Snappy built in and snappy as a plugin, encode and decode alone, at full speed: 60,000 values of 120 bytes, one thread, in turns",
        "of a few milliseconds.",
        "`native` and `python` run logsegment's own snappy, exported by a small crate ([benches/plugins](../../benches/plugins/snappy)),",
        "as C functions and from the methods of a class of Python: nothing else differs. `stored` is a class that gives back what it",
        "is given, for comparison with `none`. The ratio is the median of the rounds' ratios to what is built in;",
        "`us a batch` is the difference of the",
        "best times by the number of batches.",
        "",
        *markdown(header, table),
        "",
        "Where the microseconds go: what `stored` takes to decode is the call itself, one a batch. The interpreter is taken and given",
        "back, a view of the packed bytes is made, the method is called, what it gives is held, and let go inside the next call. `python`",
        "also writes to new memory where the built-in codec writes to its own again. A plugin of C functions has none of that. When",
        "encoding, what a plugin of Python gives is copied after what was written before, which is most of `stored` at 1 MiB.",
        "",
    ]
    return "\n".join(lines)


def plugins_row(row, built_in):
    cells = [row["codec"], f"{row['batches']} of {row['batch_bytes'] >> 10} KiB"]
    for verb in ("decode", "encode"):
        is_plugin = row is not built_in
        more = (row[verb] - built_in[verb]) / row["batches"] * 1e6
        cells += [f"{row[verb] * 1e3:.2f}", f"{row[f'{verb}_ratio']:.3f}" if is_plugin else "", f"{more:.2f}" if is_plugin else ""]
    return cells


def paced_plugins_section(rows):
    table = [
        [
            f"{CALLED[row['codec']]}, run {row['run']}",
            f"{row['records']:,}",
            f"{row['records_s']:,.2f}",
            f"{row['records_s'] * 1024 / (1 << 20):.2f}",
            *(f"{row[name]:.2f}" for name in ("p500", "mean", "p950", "p990", "p999", "max")),
        ]
        for row in sorted(rows, key=lambda row: (list(CALLED).index(row["codec"]), row["run"]))
    ]
    lines = [
        "## Plugin codecs at an equal speed",
        "",
        "The experiment of the pluggable compression proposal (KIP-984): a producer that is held to 10,000 records a second of 1 KiB,",
        "which no codec slows down; latencies in milliseconds. The proposal's own table, of a producer and a broker:",
        "",
        *markdown(PACED_HEADER, PROPOSALS_TABLE),
        "",
        "The same speed here, without a broker: all records that are due go into a batch of at most 16 KiB, which is encoded and",
        "decoded. The latency is the time from when a record was due until its batch is decoded. The codecs take turns, run after run.",
        "",
        *markdown(PACED_HEADER, table),
        "",
    ]
    return "\n".join(lines)

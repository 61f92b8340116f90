"""Plugin codecs."""

from benches.report.tables import markdown

PROPOSALS_TABLE = [
    ["built in", "1,000,000", "9,999.7", "3.42", "6", "352"],
    ["built in", "1,000,000", "9,999.6", "3.93", "7", "214"],
    ["built in", "1,000,000", "9,999.9", "3.41", "6", "226"],
    ["plugin", "1,000,000", "9,999.8", "3.54", "6", "120"],
    ["plugin", "1,000,000", "9,999.8", "3.40", "6", "131"],
    ["plugin", "1,000,000", "9,999.8", "3.55", "6", "59"],
]
#: What a plugin is held against.
BUILT_IN = {"snappy": "snappy", "native": "snappy", "python": "snappy", "none": "none", "stored": "none"}


def plugins_section(rows):
    of = {(row["codec"], row["batch_bytes"]): row for row in rows}
    table = [plugins_row(row, of[BUILT_IN[row["codec"]], row["batch_bytes"]]) for row in rows]
    header = ["codec", "batches", "decode, ms", "ratio", "us a batch", "encode, ms", "ratio", "us a batch"]
    lines = [
        "## Plugin codecs",
        "",
        "The experiment of the pluggable compression proposal (KIP-984), snappy built in and snappy as a plugin. Its own table:",
        "a producer that is held to 10,000 records a second, which no codec could slow down; latencies in milliseconds.",
        "",
        *markdown(["snappy", "records", "records/s", "mean", "95th %", "max"], PROPOSALS_TABLE),
        "",
        "Here encode and decode are asked alone, at full speed: 60,000 values of 120 bytes, one thread, in turns of a few milliseconds.",
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

"""What Spark does with a segment."""

from benches.report.tables import markdown


def spark_section(rows):
    table = [spark_row(row) for row in rows]
    header = ["input", "API", "query", "Mrows/s", "ceiling", "share", "CPU us a row", "ceiling", "share"]
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
        row["entry_point"],
        row["query"],
        f"{ours['mrows_s']:.2f}",
        f"{ceiling['mrows_s']:.2f}",
        rate,
        f"{ours['cpu_us_per_row']:.3f}",
        f"{ceiling['cpu_us_per_row']:.3f}",
        cpu,
    ]


def spark_readers_section(rows):
    lines = [
        "## Spark's columnar reader",
        "",
        "The [reader in the JVM](../how-to/faster-in-spark.md) and the one in Python, local[2], one run, medians of rounds in rotating",
        "order. `noop` reads all columns, `group` sums the lengths of values by partition, `count` counts the even offsets, `arrow_udf`",
        "sums what a function of Arrow arrays makes of values. Python with columns has the option `columns` with what the query needs;",
        "the columnar reader gets these columns from Spark. Before its first row a query costs about 0.4 s of CPU with either reader, in",
        "planning and starting tasks: with decompression, which is the same code in both, that is most of `count` with lz4.",
        "",
    ]
    header = ["input", "query", "reader", "Mrows/s", "CPU us a row", "CPU of the columnar reader / its CPU"]
    table = [reader_row(row, name) for row in rows for name in ("python", "python with columns", "columnar") if row[name]]
    return "\n".join([*lines, *markdown(header, table), ""])


def reader_row(row, name):
    found, columnar = row[name], row["columnar"]
    share = f"{columnar['cpu_us_per_row'] / found['cpu_us_per_row']:.2f}"
    return [row["corpus"], row["query"], name, f"{found['mrows_s']:.2f}", f"{found['cpu_us_per_row']:.3f}", share]


def header_view_section(row):
    numbers = [f"{row['bytes'] / 2**30:.1f}", f"{row['partitions']}", f"{row['batches']}"]
    seconds = [f"{row[name]:.2f}" for name in ("loop", "view", "count")]
    lines = [
        "## Batch headers in Spark",
        "",
        "`view=batches`, all of its columns into Spark's noop sink, over hard links of one segment (small-none, in the page cache), on",
        "local[2]; for comparison a loop on one thread that reads each header by position, takes its fields apart with `struct` and keeps",
        "nothing. The session is started before; planning and tasks are in the view's time. `count` is `count()` over the same view.",
        "",
    ]
    header = ["GiB", "partitions", "batches", "loop, s", "view, s", "count, s", "times"]
    return "\n".join([*lines, *markdown(header, [[*numbers, *seconds, f"{row['view'] / row['loop']:.2f}"]]), ""])


def decode_values_section(rows):
    header = ["query", "decode_values, Mrows/s", "from_avro, Mrows/s", "times", "decode_values, CPU us a row", "from_avro, CPU us a row"]
    lines = [
        "## Values that Spark's Kafka source has read",
        "",
        f"`decode_values` and Spark's `from_avro` over {rows[0]['rows']:,} rows of {rows[0]['value_bytes'] // rows[0]['rows']} bytes",
        "with Confluent's framing that are cached in memory, local[2], one run; `from_avro` gets the value without the framing. The rows",
        "are equal.",
        "",
    ]
    return "\n".join([*lines, *markdown(header, [decode_values_row(row) for row in rows]), ""])


def decode_values_row(row):
    ours, theirs = row["decode_values"], row["from_avro"]
    speed = [f"{ours['mrows_s']:.2f}", f"{theirs['mrows_s']:.2f}", f"{row['ratio']:.1f}"]
    return [row["query"], *speed, f"{ours['cpu_us_per_row']:.3f}", f"{theirs['cpu_us_per_row']:.3f}"]

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
        row["door"],
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
        "order. `noop` reads all columns, `group` sums the lengths of values by partition, `count` counts the even offsets. Python with",
        "columns has the option `columns` with what the query needs; Spark tells the columnar reader by itself. The machine was shared:",
        "CPU counts more than rows a second.",
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


def spark_kafka_section(rows):
    lines = [
        "## Compared with Spark's Kafka source",
        "",
        "The same topics of one Kafka 4.3.1 broker on this machine, two partitions of records of 100 bytes, in one run: ours over the",
        "broker's directory in Spark 4.3, Spark's own Kafka source in Spark 4.0.0 (the newest whose connector resolves whole), each on",
        "local[2]. The broker works on the same cores: its CPU is counted apart, and its time is part of what a Kafka source waits for.",
        "The boundary is the CPU of the same rows ready made, decode that of plain Python.",
        "",
    ]
    return "\n".join([*lines, *spark_kafka_table(rows), ""])


def spark_kafka_unchecked_section(rows):
    lines = [
        "### With Arrow's checks switched off",
        "",
        "The same, where both JVMs have what [the guide](../how-to/run-on-a-cluster.md#the-speed-of-the-boundary) says of Arrow's checks.",
        "Spark's",
        "Kafka source does not use Arrow. This is a run of its own, at another time than the one above.",
        "",
    ]
    return "\n".join([*lines, *spark_kafka_table(rows), ""])


def spark_kafka_table(rows):
    header = ["codec", "query", "Mrows/s", "Kafka source", "times", "CPU us a row", "Kafka source", "boundary", "decode", "broker"]
    return markdown(header, [spark_kafka_row(row) for row in rows])


def spark_kafka_row(row):
    ours, kafka = row["ours"], row["kafka"]
    cpu = [ours["cpu_us_per_row"], kafka["cpu_us_per_row"], row["ceiling"]["cpu_us_per_row"], row["plain_cpu_us_per_row"]]
    speed = [f"{ours['mrows_s']:.2f}", f"{kafka['mrows_s']:.2f}", f"{ours['mrows_s'] / kafka['mrows_s']:.1f}"]
    return [row["codec"], row["query"], *speed, *(f"{value:.3f}" for value in [*cpu, kafka["broker_cpu_us_per_row"]])]

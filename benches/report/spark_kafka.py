"""The data source compared with Spark's own Kafka source."""

from benches.report.tables import markdown


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
    columnar = columnar_table([row for row in rows if "columnar" in row])
    return "\n".join([*lines, *spark_kafka_table(rows), "", *columnar])


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
    return markdown(header, [spark_kafka_row(row) for row in rows if "ceiling" in row])


def spark_kafka_row(row):
    ours, kafka = row["ours"], row["kafka"]
    cpu = [ours["cpu_us_per_row"], kafka["cpu_us_per_row"], row["ceiling"]["cpu_us_per_row"], row["plain_cpu_us_per_row"]]
    speed = [f"{ours['mrows_s']:.2f}", f"{kafka['mrows_s']:.2f}", f"{ours['mrows_s'] / kafka['mrows_s']:.1f}"]
    return [row["codec"], row["query"], *speed, *(f"{value:.3f}" for value in [*cpu, kafka["broker_cpu_us_per_row"]])]


def columnar_table(rows):
    """The columnar reader in the same run: full rows and narrow queries."""
    if not rows:
        return []
    header = [
        "codec",
        "query",
        "columnar, Mrows/s",
        "Kafka source",
        "times",
        "Python reader",
        "columnar, CPU us a row",
        "Kafka source",
        "times",
    ]
    lines = [
        "The [columnar reader](../how-to/faster-in-spark.md) in the same run; `group` sums the lengths of values by partition, `count`",
        "counts the even offsets, and the Python reader has the option `columns` in these two.",
        "",
    ]
    return [*lines, *markdown(header, [columnar_row(row) for row in rows]), ""]


def columnar_row(row):
    ours, kafka, columnar = row["ours"], row["kafka"], row["columnar"]
    rates = [
        f"{columnar['mrows_s']:.2f}",
        f"{kafka['mrows_s']:.2f}",
        f"{columnar['mrows_s'] / kafka['mrows_s']:.1f}",
        f"{ours['mrows_s']:.2f}",
    ]
    cpu = [columnar["cpu_us_per_row"], kafka["cpu_us_per_row"]]
    return [row["codec"], row["query"], *rates, *(f"{value:.3f}" for value in cpu), f"{cpu[1] / cpu[0]:.1f}"]


def spark_values_section(rows):
    lines = [
        "### Typed values",
        "",
        f"A topic of Avro values of {rows[0]['value_bytes']} bytes with Confluent's framing, batches of lz4: the option `values=avro` over",
        "the broker's directory, and Spark's `from_avro` over its Kafka source, which gets each value without its first 5 bytes. One run,",
        "equal rows. `noop` has the offset and all fields, `two fields` sums two numbers; ours then has the option `columns`.",
        "",
    ]
    header = ["query", "Mrows/s", "from_avro", "times", "CPU us a row", "from_avro", "broker"]
    return "\n".join([*lines, *markdown(header, [spark_values_row(row) for row in rows]), ""])


def spark_values_row(row):
    ours, kafka = row["ours"], row["kafka"]
    speed = [f"{ours['mrows_s']:.2f}", f"{kafka['mrows_s']:.2f}", f"{ours['mrows_s'] / kafka['mrows_s']:.1f}"]
    return [
        row["query"],
        *speed,
        *(f"{value:.3f}" for value in (ours["cpu_us_per_row"], kafka["cpu_us_per_row"], kafka["broker_cpu_us_per_row"])),
    ]

"""What the recorded figures must show. Each rule yields a Check; what was not measured fails.

The figures are ratios of times taken in one run on one machine, so they hold on other machines too; only the memory
limit is absolute.
"""

from dataclasses import dataclass

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
SHAPES = ["small", "headers", "smallbig", "large"]
BATCHES_OF_16_KIB = ["small", "headers"]
CASES = [f"{shape}-{codec}" for shape in SHAPES for codec in CODECS]
PEERS = [
    "java-view",
    "java-bytes",
    "rs-kafka-protocol",
    "rs-rskafka",
    "go-franz",
    "go-sarama",
    "go-segmentio",
    "py-aiokafka",
    "py-kafka-python",
]
# The Rust peers do not read magic 1.
MESSAGE_SET_CASES = ["v1-small-lz4", "v1-small-snappy"]
MESSAGE_SET_PEERS = ["java-view", "java-bytes", "go-franz", "go-sarama", "go-segmentio", "py-aiokafka", "py-kafka-python"]
ENCODE_SHAPES = ["small", "headers", "large"]
ENCODE_CODECS = ["none", "gzip-6", "gzip-9", "snappy", "lz4", "lz4-hc4", "lz4-hc8", "zstd-3"]
ENCODE_CASES = [f"{shape} {codec}" for shape in ENCODE_SHAPES for codec in ENCODE_CODECS]
STREAMING_WAYS = ["logsegment cat", "logsegment verify", "logsegment convert", "decode(FileSource)"]
# Not mapInArrow with noop: Spark then never touches the columns, which flatters whoever makes them.
SPARK_QUERIES = [("data source", "noop"), ("data source", "consumed"), ("mapInArrow", "consumed")]

VERIFY_LIMIT = 1.25
#: Time of decoding over the time of checksum + decompress + copy.
REFERENCE_LIMITS = {"none": 1.15, "lz4": 1.10, "gzip": 1.05, "zstd": 1.05, "snappy": 1.05}
REFERENCE_LIMIT_OF_HEADERS = 1.3
#: Time of Java's views over ours, the small records.
JAVA_VIEWS_GAIN = {"none": 1.7, "gzip": 2.2, "snappy": 2.2, "lz4": 1.6, "zstd": 1.4}
JAVA_VIEWS_SHARE = 1.0
SMALL_VIEWS_LIMIT = 1.15
THREADS_LIMIT = 1.8
BARE_LOOP_LIMIT = 2.0
MEMORY_LIMIT_MIB = 200.0
SPARK_SHARE = 0.80
#: CPU of a row of the columnar reader beside the one in Python: of all columns, and of few.
SPARK_FULL_SHARE = 0.5
SPARK_NARROW_SHARE = 0.55
SPARK_READER_CASES = [(corpus, query) for corpus in ("small-none", "small-lz4") for query in ("noop", "group", "count")]
ENCODE_PEER_SHARE = 0.75
ENCODED_SIZE_LIMIT = 1.05
KAFKA_BUILDER = "java"
CONVERT_SHARE = 0.80
FIX_LZ4_GIB_S = 1.0
SLICE_CASES = [(name, entry_point) for name in ("small-none", "small-lz4") for entry_point in ("Segment", "Log")]
SLICE_GAIN = 20.0
#: In Spark. One interval of the index is allowed besides, and not needed.
SLICE_SHARE = 0.02
SLICE_TASKS = 2
DUMP_LOG_GAIN = 20.0
RESYNC_MB_S = 500.0
HEADER_VIEW_BYTES = 10 << 30
HEADER_VIEW_LIMIT = 2.0
SPARK_KAFKA_QUERIES = ["consumed", "noop"]
#: Queries of few columns, in which the columnar reader counts.
SPARK_KAFKA_NARROW = ["group", "count"]
SPARK_KAFKA_SPEED = 3.0
SPARK_KAFKA_NARROW_SPEED = 5.0
#: Rows a second of decoded values, beside `from_avro` over the Kafka source.
SPARK_VALUES_QUERIES = ["noop", "two fields"]
SPARK_VALUES_SPEED = 3.0
SPARK_KAFKA_CPU = 0.65
SPARK_PARTS_CPU = 1.15
SPARK_PLAIN_SHARE = 0.85
#: `validate` and a copy beside a rewrite of 1 % of the batches.
REWRITE_SPEED = 0.8
#: MiB beyond what the process had before: the bytes of a million keys with 21 bytes for each, and the runs.
REWRITE_KEYS_MIB = 100.0
AVRO_VALUES = ["orders", "flat records"]
AVRO_VALUES_LIMIT = 1.2
FASTAVRO_GAIN = 10.0
#: What a plugin may cost, by the bytes of a batch.
PLUGIN_LIMITS = {("native", 16 << 10): 1.02, ("native", 1 << 20): 1.02, ("python", 16 << 10): 1.10, ("python", 1 << 20): 1.02}


@dataclass
class Check:
    """One comparison: `value` must be at most (or at least) `limit`; None was not measured."""

    rule: str
    subject: str
    value: float | None
    limit: float
    at_most: bool = True
    note: str = ""

    @property
    def ok(self):
        if self.value is None:
            return False
        return self.value <= self.limit if self.at_most else self.value >= self.limit


def checks(results):
    """Every Check of the project over results.json's content."""
    cells = results.get("peers", {}).get("cells", {})
    names = results.get("peers", {}).get("names", {})
    return [
        *equal_work(cells),
        *against_reference(cells),
        *against_peers(cells, names),
        *message_sets(results.get("message_sets", {})),
        *encoding(results.get("encode", {})),
        *converting(results.get("convert", {})),
        *views(cells),
        *two_threads(cells),
        *bare_loop(results.get("headers", {})),
        *memory(results.get("memory", [])),
        *rewriting(results.get("rewrite", [])),
        *slices(results.get("slice", [])),
        *verifying(results.get("verify", {})),
        *spark(results.get("spark", [])),
        *spark_readers(results.get("spark_readers", [])),
        header_view(results.get("header_view", {})),
        *spark_kafka(results.get("spark_kafka", [])),
        *spark_kafka(results.get("spark_kafka_unchecked", []), "unchecked"),
        *columnar_spark_kafka(results.get("spark_kafka", [])),
        *avro_values(results.get("avro_values", [])),
        *spark_values(results.get("spark_values", [])),
        *plugins(results.get("plugins", [])),
    ]


def equal_work(cells):
    """All contestants decoded the same records, and ours none with an error."""
    for case in CASES:
        found = cells.get(case, {})
        sums = {cell["checksum"] for cell in found.values() if "checksum" in cell}
        failed = [i for i in ("baseline", "ours", "ours-view", "ours-threads2") if "min" not in found.get(i, {})]
        note = "failed or missing: " + ", ".join(failed) if failed else ""
        yield Check("checksums equal", case, float(len(sums) + len(failed)) if found else None, 1.0, note=note)


def against_reference(cells):
    for shape in BATCHES_OF_16_KIB:
        for codec in CODECS:
            case = f"{shape}-{codec}"
            limit = REFERENCE_LIMIT_OF_HEADERS if shape == "headers" else REFERENCE_LIMITS[codec]
            yield Check("time / checksum + decompress + copy", case, ratio(cells, case, "ours", "baseline"), limit)


def against_peers(cells, names):
    """Faster than every peer; with 4 KiB values views over kept sections count as ours."""
    for case in CASES:
        found = cells.get(case, {})
        ours = [seconds(found, i) for i in (["ours", "ours-view"] if case.startswith("large-") else ["ours"])]
        best = min((second for second in ours if second), default=None)
        peers = {i: seconds(found, i) for i in PEERS if seconds(found, i) and not excepted(case, i)}
        fastest = min(peers, key=peers.get, default=None)
        complete = best and fastest and all(i in found for i in PEERS)
        value = best / peers[fastest] if complete else None
        yield Check("time / fastest peer", case, value, 1.0, note=peers_note(found, names, fastest))


def peers_note(found, names, fastest):
    """Who the fastest peer was, and which were not measured or failed."""
    missing = [i for i in PEERS if i not in found]
    failed = [i for i in PEERS if "error" in found.get(i, {})]
    parts = [names.get(fastest, fastest or "")]
    parts += ["missing: " + ", ".join(missing)] if missing else []
    parts += ["fails: " + ", ".join(failed)] if failed else []
    return "; ".join(filter(None, parts))


def excepted(case, identity):
    """Java's views copy nothing: on plain 4 KiB values they have a rule of their own."""
    return case == "large-none" and identity == "java-view"


def message_sets(section):
    """Magic 1 is decoded to the same records as all peers find, and faster than each."""
    cells, names = section.get("cells", {}), section.get("names", {})
    for case in MESSAGE_SET_CASES:
        found = cells.get(case, {})
        sums = {cell["checksum"] for cell in found.values() if "checksum" in cell}
        yield Check("checksums equal", case, float(len(sums)) if found else None, 1.0)
        peers = {i: seconds(found, i) for i in MESSAGE_SET_PEERS if seconds(found, i)}
        fastest = min(peers, key=peers.get, default=None)
        complete = seconds(found, "ours") and all(i in found for i in MESSAGE_SET_PEERS)
        value = seconds(found, "ours") / peers[fastest] if complete and fastest else None
        yield Check("time / fastest peer", case, value, 1.0, note=names.get(fastest, ""))


def encoding(section):
    """Compare each case with Kafka's own builder, and with the speed and the size of the fastest peer that writes its codec and level."""
    cases, names = section.get("cases", {}), section.get("names", {})
    for case in ENCODE_CASES:
        cells = cases.get(case, {}).get("cells", {})
        failed = [i for i, cell in cells.items() if "error" in cell]
        peers = {i: cell for i, cell in cells.items() if i != "ours" and "min" in cell}
        ours = cells.get("ours") if peers and not failed else None
        fastest = min(peers, key=lambda i: peers[i]["min"], default=None)
        builder = peers[KAFKA_BUILDER]["min"] / ours["min"] if ours and KAFKA_BUILDER in peers else None
        speed = peers[fastest]["min"] / ours["min"] if ours else None
        size = ours["bytes"] / peers[fastest]["bytes"] if ours else None
        note = "fails: " + ", ".join(failed) if failed else names.get(fastest, "")
        yield Check("encode: speed / Kafka's builder", case, builder, 1.0, at_most=False)
        yield Check("encode: speed / fastest peer", case, speed, ENCODE_PEER_SHARE, at_most=False, note=note)
        yield Check("encode: size / fastest peer", case, size, ENCODED_SIZE_LIMIT, note=names.get(fastest, ""))


def converting(section):
    for case in MESSAGE_SET_CASES:
        row = section.get("up", {}).get(case)
        value = row["decode_encode"] / row["convert"] if row else None
        yield Check("convert to v2: speed / decode + encode", case, value, CONVERT_SHARE, at_most=False)
    row = section.get("fix_lz4")
    value = row["bytes"] / row["seconds"] / 2**30 if row else None
    yield Check("fix_lz4, GiB/s", "v1-small-lz4", value, FIX_LZ4_GIB_S, at_most=False)


def views(cells):
    """Java's views next to ours: copies of small records, and views of large ones; and our own views next to our copies."""
    for codec, limit in JAVA_VIEWS_GAIN.items():
        case = f"small-{codec}"
        yield Check("speed / Java views", case, ratio(cells, case, "java-view", "ours"), limit, at_most=False)
    value = ratio(cells, "large-none", "java-view", "ours-view")
    yield Check("speed / Java views", "large-none, binary_view", value, JAVA_VIEWS_SHARE, at_most=False)
    value = ratio(cells, "small-none", "ours-view", "ours")
    yield Check("time of binary_view / copies", "small-none", value, SMALL_VIEWS_LIMIT)


def two_threads(cells):
    """Uncompressed records wait for memory, which two threads share: those are reported, not limited."""
    for codec in CODECS[1:]:
        case = f"small-{codec}"
        value = ratio(cells, case, "ours", "ours-threads2")
        yield Check("2 threads / 1", case, value, THREADS_LIMIT, at_most=False)


def bare_loop(headers):
    for codec in CODECS:
        case = f"small-{codec}"
        row = headers.get(case)
        value = row["ours"] / row["bare_loop"] if row else None
        yield Check("batches / bare loop", case, value, BARE_LOOP_LIMIT)


def memory(rows):
    for way in STREAMING_WAYS:
        if not any(row["way"] == way for row in rows):
            yield Check("peak MiB, 1 GiB segment", way, None, MEMORY_LIMIT_MIB)
    for row in rows:
        subject = f"{row['way']}, {row['corpus']}"
        enough = row["bytes"] >= 1 << 30
        yield Check("peak MiB, 1 GiB segment", subject, row["peak_rss_mib"] if enough else None, MEMORY_LIMIT_MIB)


def spark(rows):
    """Uncompressed input: rows a second, and CPU a row, beside the ceiling's."""
    for entry_point, query in SPARK_QUERIES:
        found = [r for r in rows if (r["corpus"], r["entry_point"], r["query"]) == ("small-none", entry_point, query)]
        ours, ceiling = (found[0]["ours"], found[0]["ceiling"]) if found else (None, None)
        rate = ours["mrows_s"] / ceiling["mrows_s"] if found else None
        cpu = ceiling["cpu_us_per_row"] / ours["cpu_us_per_row"] if found else None
        yield Check("rows/s / Spark's ceiling", f"{entry_point}, {query}, small-none", rate, SPARK_SHARE, at_most=False)
        yield Check("ceiling's CPU a row / ours", f"{entry_point}, {query}, small-none", cpu, SPARK_SHARE, at_most=False)


def spark_readers(rows):
    """CPU of a row of the columnar reader beside the one in Python: full rows, and narrow ones beside the option `columns`."""
    for corpus, query in SPARK_READER_CASES:
        row = next((row for row in rows if (row["corpus"], row["query"]) == (corpus, query)), None)
        other, limit = ("python", SPARK_FULL_SHARE) if query == "noop" else ("python with columns", SPARK_NARROW_SHARE)
        share = row["columnar"]["cpu_us_per_row"] / row[other]["cpu_us_per_row"] if row else None
        yield Check(f"CPU of a row, columnar / {other}", f"{query}, {corpus}", share, limit)


def header_view(row):
    """A view of headers over 10 GiB of log beside a bare loop over the same headers."""
    is_whole = row.get("bytes", 0) >= HEADER_VIEW_BYTES
    value = row["view"] / row["loop"] if is_whole else None
    return Check("view=batches / bare loop", "10 GiB, small-none", value, HEADER_VIEW_LIMIT)


def rewriting(rows):
    """A rewrite of 1 % of the batches beside `validate` and a copy, and the memory that a million keys take."""
    for codec in CODECS:
        row = next((row for row in rows if row.get("codec") == codec), None)
        yield Check("speed of rewrite / validate + copy", codec, row["ratio"]["best"] if row else None, REWRITE_SPEED, at_most=False)
    keys = next((row for row in rows if "keys" in row), None)
    more = float(keys["peak_mib"] - keys["idle_mib"]) if keys else None
    yield Check("MiB of rewrite beyond the array of keys", "a million keys", more, REWRITE_KEYS_MIB)


def slices(rows):
    """1 % of the offsets of a 1 GiB segment beside all of it."""
    for name, entry_point in SLICE_CASES:
        found = [row for row in rows if (row["corpus"], row["entry_point"]) == (name, entry_point) and row["bytes"] >= 1 << 30]
        value = found[0]["all"] / found[0]["slice"] if found else None
        yield Check("all / 1 % of the offsets", f"{entry_point}, {name}", value, SLICE_GAIN, at_most=False)
    for name in dict.fromkeys(name for name, _ in SLICE_CASES):
        row = next((row for row in rows if (row["corpus"], row["entry_point"]) == (name, "Spark") and row["bytes"] >= 1 << 30), None)
        share = row["slice_bytes"] / row["bytes"] if row else None
        yield Check("bytes read for 1 % of the offsets", f"Spark, {name}", share, SLICE_SHARE)
        yield Check("tasks for 1 % of the offsets", f"Spark, {name}", float(row["tasks"]) if row else None, float(SLICE_TASKS))


def verifying(found):
    """`verify` next to its reference and to Kafka's own tool, and the search past damage."""
    row = found.get("verify", {})
    is_whole = row.get("bytes", 0) >= 1 << 30
    value = row["command"] / row["baseline"] if is_whole else None
    yield Check("time of verify / checksum + decompress + copy", "1 GiB of lz4", value, VERIFY_LIMIT)
    value = row["dump_log"] / row["command"] if is_whole and "dump_log" in row else None
    yield Check("kafka-dump-log / verify", "1 GiB of lz4", value, DUMP_LOG_GAIN, at_most=False)
    speeds = [row["bytes"] / 1e6 / row["seconds"] for row in found.get("resync", [])]
    yield Check("MB/s past damage", "the slowest bytes", min(speeds, default=None), RESYNC_MB_S, at_most=False)


def spark_kafka(rows, *settings):
    """Beside Spark's Kafka source; and beside the sum of the boundary and of plain decoding, which is all that a read must cost."""
    for codec in CODECS:
        for query in SPARK_KAFKA_QUERIES:
            case = ", ".join([query, codec, *settings])
            row = next((row for row in rows if (row["codec"], row["query"]) == (codec, query)), None)
            speed = row["ours"]["mrows_s"] / row["kafka"]["mrows_s"] if row else None
            cpu = row["ours"]["cpu_us_per_row"] / row["kafka"]["cpu_us_per_row"] if row else None
            parts = row["ceiling"]["cpu_us_per_row"] + row["plain_cpu_us_per_row"] if row else None
            yield Check("rows/s / Spark's Kafka source", case, speed, SPARK_KAFKA_SPEED, at_most=False)
            yield Check("CPU a row / Spark's Kafka source", case, cpu, SPARK_KAFKA_CPU)
            yield Check("CPU a row / boundary + decode", case, row["ours"]["cpu_us_per_row"] / parts if row else None, SPARK_PARTS_CPU)
            if codec == "none":
                share = row["ours"]["mrows_s"] / row["ceiling"]["mrows_s"] if row else None
                yield Check("rows/s / boundary", case, share, SPARK_PLAIN_SHARE, at_most=False)


def columnar_spark_kafka(rows):
    """The columnar reader beside Spark's Kafka source."""
    limits = dict.fromkeys(SPARK_KAFKA_QUERIES, SPARK_KAFKA_SPEED) | dict.fromkeys(SPARK_KAFKA_NARROW, SPARK_KAFKA_NARROW_SPEED)
    for codec in CODECS:
        for query, limit in limits.items():
            row = next((row for row in rows if (row["codec"], row["query"]) == (codec, query) and "columnar" in row), None)
            speed = row["columnar"]["mrows_s"] / row["kafka"]["mrows_s"] if row else None
            yield Check("rows/s, columnar / Spark's Kafka source", f"{query}, {codec}", speed, limit, at_most=False)


def avro_values(rows):
    """Avro values to Arrow beside arrow-avro alone, and beside fastavro with pyarrow."""
    for values in AVRO_VALUES:
        row = next((row for row in rows if row["values"] == values), {})
        yield Check("time / arrow-avro", values, row.get("to_arrow_avro"), AVRO_VALUES_LIMIT)
        yield Check("times fastavro + pyarrow", values, row.get("to_fastavro"), FASTAVRO_GAIN, at_most=False)


def spark_values(rows):
    """Values decoded by the data source beside `from_avro` over the rows of Spark's Kafka source."""
    for query in SPARK_VALUES_QUERIES:
        row = next((row for row in rows if row["query"] == query), None)
        speed = row["ours"]["mrows_s"] / row["kafka"]["mrows_s"] if row else None
        yield Check("rows/s, values=avro / from_avro of Kafka source", query, speed, SPARK_VALUES_SPEED, at_most=False)


def plugins(rows):
    """Snappy as a plugin beside the same snappy built in."""
    for (codec, size), limit in PLUGIN_LIMITS.items():
        row = next((row for row in rows if (row["codec"], row["batch_bytes"]) == (codec, size)), None)
        for verb in ("decode", "encode"):
            yield Check("plugin / built in", f"{verb}, {codec}, {size >> 10} KiB", row[f"{verb}_ratio"] if row else None, limit)


def ratio(cells, case, above, below):
    """Best time of `above` over best time of `below`, or None if one was not measured."""
    found = cells.get(case, {})
    numerator, denominator = seconds(found, above), seconds(found, below)
    return numerator / denominator if numerator and denominator else None


def seconds(found, identity):
    return found.get(identity, {}).get("min")

"""The results as Markdown: one table a corpus, and three over all of them."""


def show(contestants, corpora, results):
    """Return the tables of `results` as text, and write them to table.md."""
    names = [name for name in corpora if name in results]
    if not names:
        return "nothing measured"
    labels = {c["id"]: c["name"] for c in contestants}
    lines = []
    for name in names:
        lines += corpus_table(labels, corpora[name], results[name])
    for title, value in VIEWS:
        lines += matrix(title, value, labels, names, results)
    text = "\n".join(lines) + "\n"
    with open("table.md", "w") as file:
        file.write(text)
    return text


def corpus_table(labels, corpus, cells):
    sums = {cell["checksum"] for cell in cells.values() if "checksum" in cell}
    agree = "all equal" if len(sums) == 1 else "DIFFER"
    lines = [f"\n### {corpus['name']}  ({corpus['records']} records, {corpus['batches']} batches, "
             f"{corpus['uncompressed_bytes'] / 1e6:.0f} MB uncompressed, {corpus['file_bytes'] / 1e6:.0f} MB on disk; "
             f"checksums {agree})\n",
             "| contestant | MB/s (best) | Mrec/s (best) | MB/s (median) | times the reference |",
             "|---|--:|--:|--:|--:|"]
    for identity in ordered(labels, cells):
        cell = cells[identity]
        label = labels.get(identity, identity)
        if "error" in cell:
            lines.append(f"| {label} | fails: {cell['error'][:80]} | | | |")
            continue
        median = corpus["uncompressed_bytes"] / cell["median"] / 1e6
        lines.append(f"| {label} | {cell['mb_s']:.0f} | {cell['mrec_s']:.2f} | {median:.0f} | {times_reference(cells, cell)} |")
    return lines


def ordered(labels, cells):
    return [i for i in labels if i in cells] + [i for i in cells if i not in labels]


def times_reference(cells, cell):
    baseline = cells.get("baseline", {}).get("min")
    return f"{cell['min'] / baseline:.2f}" if baseline else "?"


def matrix(title, value, labels, names, results):
    """One row a contestant, one column a corpus."""
    lines = [f"\n### {title}\n", "| contestant | " + " | ".join(names) + " |", "|---|" + "--:|" * len(names)]
    for identity in ordered(labels, {i: None for name in names for i in results[name]}):
        row = [entry(results[name], identity, value) for name in names]
        if any(word != "-" for word in row):
            lines.append(f"| {labels.get(identity, identity)} | " + " | ".join(row) + " |")
    return lines


def entry(cells, identity, value):
    if identity not in cells:
        return "-"
    return "fails" if "error" in cells[identity] else value(cells, cells[identity])


VIEWS = [
    ("Times the time of checksum + decompress + copy (best/best)", times_reference),
    ("MB/s uncompressed (best of repeats)", lambda cells, cell: f"{cell['mb_s']:.0f}"),
    ("Million records/s (best of repeats)", lambda cells, cell: f"{cell['mrec_s']:.2f}"),
]

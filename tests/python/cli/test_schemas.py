"""`logsegment schemas`: list, show and export what the log of a registry holds."""

from __future__ import annotations

import json
from pathlib import Path

import logsegment as ls
from cli_process import TORN, run
from values_corpus import VALUES, registry

LOG = VALUES / "_schemas-0"


def test_list_has_a_row_for_each_version():
    lines = run("schemas", "list", LOG).text.splitlines()
    versions = sum(len(schema.versions) for schema in registry())
    assert len(lines) == 1 + versions
    assert lines[0].split() == ["subject", "version", "id", "type", "state", "references", "guid"]
    rows = run("schemas", "list", "--json", "--subject", "noise-e", LOG).lines
    assert [(row["version"], row["id"], row["state"], row["schemaType"]) for row in rows] == [
        (1, 32, "deleted", "AVRO"),
        (7, 33, "live", "AVRO"),
    ]


def test_show_takes_ids_guids_subjects_and_versions():
    schema = registry().by_id(33)
    assert schema is not None
    for name in ("33", schema.guid, "noise-e", "noise-e:7"):
        done = run("schemas", "show", LOG, str(name))
        assert (done.code, json.loads(done.out)) == (0, json.loads(schema.text))
    (row,) = run("schemas", "show", "--json", LOG, "noise-e:1").lines
    assert (row["id"], row["versions"]) == (32, [{"subject": "noise-e", "version": 1, "state": "deleted"}])
    done = run("schemas", "show", LOG, "noise-e:2")
    assert (done.code, done.out, "has no schema noise-e:2; logsegment schemas list" in done.err) == (1, b"", True)


def test_export_writes_what_from_directory_reads(tmp_path: Path):
    out = tmp_path / "schemas"
    done = run("schemas", "export", LOG, "-o", out)
    assert (done.code, done.err) == (0, f"logsegment: wrote 460 schemas to {out}\n")
    assert ls.schemas.from_directory(out) == registry()
    again = run("schemas", "export", LOG, "--output", out)
    assert again.code == 2


def test_other_logs_and_missing_ones_are_usage_errors(tmp_path: Path):
    done = run("schemas", "list", VALUES / "alpha-avro-refs-0")
    assert done.code == 2
    assert "is not a record of a schema registry" in done.err
    assert run("schemas", "list", tmp_path / "nowhere-0").code == 2
    assert run("schemas", "list", TORN).code in (0, 1, 2)

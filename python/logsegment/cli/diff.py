"""`logsegment diff`: are the same records at the same offsets, and if not, which?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from logsegment._core import RecordBatchError
from logsegment._validate import is_unopened
from logsegment.analysis.diff import Comparison, Damage, Difference
from logsegment.analysis.diff import diff as compared
from logsegment.analysis.redaction import Redactor
from logsegment.cli.exit_codes import CLEAN, FOUND, Damaged, ending
from logsegment.cli.inputs import STDIN, tell_gaps
from logsegment.cli.messages import count, say, show, show_json
from logsegment.cli.options import (
    examples,
    experimental_option,
    format_option,
    json_option,
    key_file_option,
    keyed,
    quiet_option,
    redact_messages_option,
    registry_option,
    withholding,
)
from logsegment.cli.output.findings import more_like_it
from logsegment.segment_files.discovery import is_gap
from logsegment.stores.uri import shown
from logsegment.tiered import SegmentKeyError

if TYPE_CHECKING:
    from logsegment.plugins import Registry

PATH = click.Path(exists=False, allow_dash=True)
VERDICTS = {
    "same": "the same",
    "different": "DIFFERENT",
    "unopened": "NOT UNPACKED, and else the same",
    "damaged": "DAMAGED, and else the same",
}


@click.command(
    short_help="Two replicas, or a backup and its source: the same records?",
    epilog=examples(
        "logsegment diff broker-1/orders-0 broker-2/orders-0",
        "logsegment diff --json /var/lib/kafka/data /backup/data > differences.jsonl",
        "logsegment diff --batches orders-0/00000000000000000000.log copy.log",
    ),
)
@click.argument("a", metavar="A", type=PATH)
@click.argument("b", metavar="B", type=PATH)
@key_file_option
@click.option("--batches", "with_batches", is_flag=True, help="Other batches, or batch headers, of the same records differ too.")
@click.option("--deep", is_flag=True, help="Decode also batches whose headers and checksums agree.")
@click.option("--no-crc", is_flag=True, help="Believe the checksums that are stored, and where they agree read headers alone.")
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="Tell N differences of a partition at most; all are counted.")
@redact_messages_option
@format_option
@experimental_option
@registry_option
@json_option("JSON lines: differences, damage, and a summary of each partition.")
@quiet_option
@ending
def diff(
    a: str,
    b: str,
    with_batches: bool,
    deep: bool,
    no_crc: bool,
    limit: int | None,
    is_redacted: bool,
    entry_format: str,
    experimental: bool,
    codecs: Registry | None,
    is_json: bool,
    quiet: bool,
) -> int:
    """Compare the records of A with those of B: segments, partition directories, or trees of them.

    InputSegment borders, batches, codecs and formats do not count. With --quiet only partitions that are not the same are told.
    """
    if STDIN in (a, b):
        raise click.UsageError("diff reads its inputs twice: standard input can be read only once")
    options: dict[str, Any] = {"batches": with_batches, "deep": deep, "check_crc": not no_crc}
    options |= {"format": entry_format, "experimental": experimental, "codecs": codecs}
    ctx = click.get_current_context()
    redactor = withholding(is_redacted)
    write = partial(_write_json if is_json else _write_text, limit=limit, redactor=redactor, quiet=quiet)
    try:
        partitions = compared(keyed(ctx, a), keyed(ctx, b), **options)
        states = [_told(partition, write) for partition in partitions]
    except RecordBatchError as error:
        raise Damaged(error.path or f"{a} or {b}", error, "`logsegment verify` tells what is lost", redactor) from None
    except SegmentKeyError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if len(states) > 1 and not quiet:
        say(f"{count(len(states), 'partition')}: " + ", ".join(f"{states.count(state)} {state}" for state in VERDICTS))
    return CLEAN if set(states) == {"same"} else FOUND


def _told(partition: Comparison, write: Callable[[Comparison], str]) -> str:
    """Its state; what is missing since an upload is not read is told before it."""
    tell_gaps(filter(is_gap, partition.left_out))
    return write(partition)


def _write_text(partition: Comparison, limit: int | None, redactor: Redactor | None, quiet: bool) -> str:
    name = partition.name
    told = 0
    first: dict[tuple[str, str, str], Damage] = {}
    alike: Counter[tuple[str, str, str]] = Counter()
    for found in partition:
        if isinstance(found, Difference):
            told += 1
            if limit is not None and told > limit:
                continue
            line = _line(found)
        elif is_unopened(found.finding):
            # Every batch of a plugin has the same to say: at the end, once.
            key = (found.side, found.finding.rule, found.finding.message)
            first.setdefault(key, found)
            alike[key] += 1
            continue
        else:
            line = _damage_line(found, redactor)
        show(f"{name}: {line}")
    for kind, batches in alike.items():
        show(f"{name}: {_damage_line(first[kind], redactor)}{more_like_it(batches)}")
    if limit is not None and told > limit:
        show(f"{name}: and {told - limit:,} more")
    if not (quiet and partition.state == "same"):
        show(f"{name}: {VERDICTS[partition.state]}. {_summary(partition)}")
    return partition.state


def _line(found: Difference) -> str:
    side = (found.side or "").upper()
    is_one = found.first_offset == found.last_offset
    offsets = f"offset {found.first_offset}" if is_one else f"offsets {found.first_offset} to {found.last_offset}"
    where = f"{offsets}, {count(found.records, 'record')}"
    if found.kind == "missing":
        return f"missing in {side}: {where}"
    if found.kind == "unreadable":
        return f"unreadable in {side}: {where} of the other"
    kind = "changed" if found.kind == "changed" else "other batches"
    return f"{kind}: {where} ({', '.join(found.fields)})"


def _damage_line(found: Damage, redactor: Redactor | None) -> str:
    finding = found.finding
    path = shown(found.path)
    words = finding.message if redactor is None else redactor.finding(finding)
    return f"{found.side.upper()} {path}: {finding.severity} [{finding.rule}] at byte {finding.position:,}: {words}"


def _summary(partition: Comparison) -> str:
    totals = partition.totals
    for side, files in (("A", partition.a), ("B", partition.b)):
        if not files:
            return f"{side} has no such partition"
    told = [f"{count(totals.same_records, 'record')} the same ({count(totals.same_batches, 'batch')} by checksum)"]
    counts = ((totals.missing_a, "missing in A"), (totals.missing_b, "missing in B"), (totals.changed, "changed"))
    told += [f"{number:,} {what}" for number, what in (*counts, (totals.unreadable, "unreadable on one side")) if number]
    if totals.batches:
        told.append(f"other batches in {count(totals.batches, 'stretch')}")
    if totals.unopened:
        told.append(f"{count(totals.unopened, 'batch')} not unpacked")
    return ", ".join([*told, count(totals.damage, "damaged place")] if totals.damage else told)


def _write_json(partition: Comparison, limit: int | None, redactor: Redactor | None, quiet: bool) -> str:
    place = {"topic": partition.topic, "partition": partition.partition}
    told = 0
    for found in partition:
        if isinstance(found, Difference):
            told += 1
            if limit is None or told <= limit:
                fields = found.to_dict()
                show_json({"type": fields.pop("type"), **place, **fields})
        else:
            fields = found.finding.to_dict() if redactor is None else redactor.finding_fields(found.finding)
            show_json({"type": "damage", **place, "side": found.side, "file": shown(found.path), **fields})
    if not (quiet and partition.state == "same"):
        totals = partition.totals
        counts = {"sameRecords": totals.same_records, "sameBatches": totals.same_batches, "missingInA": totals.missing_a}
        counts |= {"missingInB": totals.missing_b, "changed": totals.changed, "unreadable": totals.unreadable}
        counts |= {"batchStretches": totals.batches, "damaged": totals.damage, "unopened": totals.unopened}
        sides = {"inA": bool(partition.a), "inB": bool(partition.b)}
        show_json({"type": "summary", **place, "name": partition.name, "state": partition.state, **sides, **counts})
    return partition.state

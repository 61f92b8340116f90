"""The views of a cluster in Spark: one task reads the log directories, and yields the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_schema

from logsegment._core import ClusterState, Limits
from logsegment._options import ClusterView
from logsegment.analysis.cluster import cluster
from logsegment.spark.datasource import DataSourceReader, InputPartition
from logsegment.spark.options.names import CLUSTER_VIEWS, warn_of_ignored
from logsegment.spark.options.read import parse_cluster_view
from logsegment.spark.schema import chosen_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


def cluster_schema(given: Mapping[str, str]) -> StructType:
    """Return the columns of a table of a cluster.

    Raises:
        ValueError: as `parse_cluster_view`.
    """
    return _columns(parse_cluster_view(given)[0])


def cluster_reader(given: Mapping[str, str], schema: StructType) -> DataSourceReader:
    """Return a reader of the columns of a table of a cluster that are in `schema`.

    Raises:
        ValueError: as `parse_cluster_view`, and if a column is unknown or of another type.
    """
    view, paths, limits = parse_cluster_view(given)
    warn_of_ignored(given, CLUSTER_VIEWS[view])
    return ClusterReader(view, paths, limits, chosen_of(schema, _columns(view)))


def _columns(view: ClusterView) -> StructType:
    import pyarrow as pa

    table = ClusterState.empty().view(view)
    assert table is not None, "the names of views are those of the core"
    return from_arrow_schema(pa.schema(table.schema))


@dataclass(frozen=True)
class ClusterReader(DataSourceReader):
    """Reads a table of a cluster in one task: its rows follow from all log directories together."""

    view: ClusterView
    paths: Sequence[str]
    limits: Limits | None
    columns: list[str]

    def partitions(self) -> Sequence[InputPartition]:
        """Return the one task."""
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows, in a worker process."""
        import pyarrow as pa

        rows = pa.table(cluster(*self.paths, limits=self.limits).view(self.view))
        yield from rows.select(self.columns).to_batches()

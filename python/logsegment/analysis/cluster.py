"""The state of a cluster by its log directories, without a broker: `cluster`."""

from __future__ import annotations

import os
from typing import Any, get_args

from logsegment._core import ArrowTable, ClusterState, Finding, Limits
from logsegment._options import ClusterView
from logsegment._places import absolute
from logsegment._storage import NO_ACCESS, Keys, StorageOptions, reached
from logsegment.analysis.cluster_plan import Plan, plan_of

#: The names of the tables.
VIEWS: tuple[ClusterView, ...] = get_args(ClusterView)


def cluster(
    *paths: str | os.PathLike[str],
    limits: Limits | None = None,
    storage_options: StorageOptions | None = None,
    decryption_keys: Keys | None = None,
    layout: str | None = None,
) -> Cluster:
    """Read what a cluster knew from the log directories of its brokers and controllers.

    The newest complete state of `__cluster_metadata` counts: the newest snapshot that is not cut, and the records of the longest log of
    the newest leader epoch after it. The coordinators' topics (`__consumer_offsets`, `__transaction_state`, `__share_group_state`) are
    replayed from the best directory of each partition: the one with the newest leader epoch, and of these the longest. Of all other
    partitions only headers and the files next to the logs are read. Nothing is written.

    Args:
        paths: log directories of one or several brokers and controllers, or trees and copies of them, here or in a store.
        limits: bounds of the sizes that a batch may declare; None is `Limits()`.
        storage_options: options of the store of URIs; see `Log`.
        decryption_keys: private keys of tiered storage by their ids.
        layout: template of the names of objects in tiered storage; see `Log`.

    Returns:
        A `Cluster`.

    Raises:
        TypeError: if there is no path.
        FileNotFoundError: if a path does not exist, or contains nothing of a cluster.
        OSError: if a file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> dead = ls.cluster("dead-cluster")
        >>> dead.lag.to_pylist()[0]["lag"]
        2

    Source: `org.apache.kafka.image` and the group, transaction and share coordinators in Kafka.
    """
    if not paths:
        raise TypeError("cluster() needs at least one path")
    access = (storage_options, decryption_keys, layout)
    places = [os.fspath(path) if access == NO_ACCESS else absolute(reached(path, *access)) for path in paths]
    return Cluster(ClusterState.read(places, limits))


class Cluster:
    """The state of a cluster as its log directories show it.

    Each table is an `ArrowTable`; `docs/reference/columns.md` has the columns.

    Attributes:
        findings (list[Finding]): what is damaged, missing or contradictory.
        cluster_ids (list[str]): the ids of the clusters of the log directories.
        metadata_offset (int | None): the offset after the last record of the metadata; None without a metadata log.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self.findings: list[Finding] = state.findings
        self.cluster_ids: list[str] = state.cluster_ids
        self.metadata_offset: int | None = state.metadata_offset

    @property
    def topics(self) -> ArrowTable:
        """Return the partitions of topics, also of deleted topics."""
        return self.view("topics")

    @property
    def brokers(self) -> ArrowTable:
        """Return the brokers and controllers."""
        return self.view("brokers")

    @property
    def configs(self) -> ArrowTable:
        """Return the configurations that were set. A value is `(hidden)` unless its name is known to be harmless."""
        return self.view("configs")

    @property
    def acls(self) -> ArrowTable:
        """Return the access control entries."""
        return self.view("acls")

    @property
    def quotas(self) -> ArrowTable:
        """Return the quotas of users, client ids and addresses."""
        return self.view("quotas")

    @property
    def scram(self) -> ArrowTable:
        """Return the users with SCRAM credentials, without salts and keys."""
        return self.view("scram")

    @property
    def features(self) -> ArrowTable:
        """Return the levels of features, such as `metadata.version`."""
        return self.view("features")

    @property
    def partitions(self) -> ArrowTable:
        """Return the directories of partitions: offsets, sizes, and the copies that lack records."""
        return self.view("partitions")

    @property
    def groups(self) -> ArrowTable:
        """Return groups of all protocols: a row for each member and for each committed offset."""
        return self.view("groups")

    @property
    def lag(self) -> ArrowTable:
        """Return the lag of each group, by the best directory of each partition."""
        return self.view("lag")

    @property
    def transactions(self) -> ArrowTable:
        """Return the transactional ids, and transactions that no coordinator knows."""
        return self.view("transactions")

    @property
    def producers(self) -> ArrowTable:
        """Return the producers of each partition."""
        return self.view("producers")

    def view(self, name: ClusterView) -> ArrowTable:
        """Return a table by its name.

        Raises:
            ValueError: if there is no such table.
        """
        table = self._state.view(name)
        if table is None:
            raise ValueError(f"there is no view {name!r}; there are {', '.join(VIEWS)}")
        return table

    def partition_details(self) -> list[tuple[str, int, list[int], list[int], list[int]]]:
        """Return topic, partition, last known ELR, adding and removing replicas of each partition."""
        return self._state.partition_details()

    def plan(self) -> Plan:
        """Return what creates the topics, configurations, ACLs, quotas and offsets again. Nothing is sent to a cluster."""
        return plan_of({name: self.view(name).to_pylist() for name in VIEWS}, self.cluster_ids)

    def to_dict(self) -> dict[str, Any]:
        """Return all tables and the findings, ready for JSON."""
        tables = {name: self.view(name).to_pylist() for name in VIEWS}
        head = {"clusterIds": self.cluster_ids, "metadataOffset": self.metadata_offset}
        return head | tables | {"findings": [finding.to_dict() for finding in self.findings]}

    def __repr__(self) -> str:
        topics = {row["topic"] for row in self.topics.to_pylist() if not row["deleted"]}
        groups = {row["group"] for row in self.groups.to_pylist()}
        name = ", ".join(self.cluster_ids) or "of unknown id"
        return f"Cluster({name}: {len(topics):,} topics, {len(groups):,} groups, {len(self.findings):,} findings)"

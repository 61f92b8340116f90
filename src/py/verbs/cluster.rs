//! What the log directories of a cluster show.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;

use crate::cluster as core;
use crate::decode::Stats;
use crate::internal_topics::replay::{PartitionState, TopicState};
use crate::py::arrow::table::ArrowTable;
use crate::py::errors;
use crate::py::fetches::Fetches;
use crate::py::finding::{self, PyFinding};
use crate::py::limits::PyLimits;
use crate::py::source::storage::PyStorage;
use crate::py::source::uris;

/// Topic, partition, last known ELR, adding and removing replicas.
type PartitionDetails = (String, i32, Vec<i32>, Vec<i32>, Vec<i32>);

/// The state of a cluster; see `logsegment.cluster`.
///
/// Attributes:
///     findings: what is damaged, missing or contradictory.
///     metadata_offset: the offset after the last record of the metadata; None without a metadata log.
///     cluster_ids: the ids in `meta.properties` of the log directories.
#[pyclass(name = "ClusterState", frozen, module = "logsegment._core")]
pub struct PyCluster(core::Cluster);

#[pymethods]
impl PyCluster {
    /// Read log directories, or trees and copies of them.
    ///
    /// Raises:
    ///     FileNotFoundError: if a path does not exist, or nothing of a cluster is below the paths.
    ///     OSError: if a file cannot be read.
    #[staticmethod]
    #[pyo3(signature = (paths, limits=None))]
    #[expect(clippy::needless_pass_by_value, reason = "what Python gives")]
    fn read(py: Python<'_>, paths: Vec<PathBuf>, limits: Option<PyLimits>) -> PyResult<Self> {
        let paths: Vec<_> = paths.iter().map(|path| uris::to_internal_uri(py, path)).collect::<PyResult<_>>()?;
        let limits = PyLimits::or_default(limits.as_ref());
        PyStorage::asked(py, |storage| core::Cluster::read(&paths, limits, storage)).map(Self)
    }

    /// A cluster of which nothing is known, for the columns of the tables.
    #[staticmethod]
    fn empty() -> Self {
        Self(core::Cluster::default())
    }

    /// The names of the tables.
    #[staticmethod]
    fn views() -> [&'static str; 12] {
        core::views::NAMES
    }

    /// Return a table by its name; None for any other name.
    fn view(&self, py: Python<'_>, name: &str) -> PyResult<Option<ArrowTable>> {
        let view = self.0.view(name, &|path| uris::redacted_uri(path)).map_err(|error| errors::to_py(py, &error))?;
        Ok(view.map(|batch| {
            let schema = batch.schema();
            ArrowTable {
                schema: Arc::clone(&schema),
                batches: vec![batch],
                findings: Vec::new(),
                stats: Stats::default(),
                fetches: Fetches::default(),
            }
        }))
    }

    /// Return topic, partition, last known ELR, adding and removing replicas of each partition, for the output of `kafka-topics`.
    fn partition_details(&self) -> Vec<PartitionDetails> {
        let topics = self.0.metadata.iter().flat_map(|metadata| metadata.topics.values());
        let details = |topic: &TopicState| -> Vec<PartitionDetails> {
            let of = |(number, state): (&i32, &PartitionState)| {
                (topic.name.clone(), *number, state.last_known_elr.clone(), state.adding.clone(), state.removing.clone())
            };
            topic.partitions.iter().map(of).collect()
        };
        topics.flat_map(details).collect()
    }

    #[getter]
    fn findings(&self) -> Vec<PyFinding> {
        finding::to_py(&self.0.findings)
    }

    #[getter]
    fn metadata_offset(&self) -> Option<i64> {
        self.0.metadata_end
    }

    #[getter]
    fn cluster_ids(&self) -> Vec<String> {
        let mut ids: Vec<_> = self.0.log_dirs.iter().filter_map(|log| log.cluster.clone()).collect();
        ids.sort();
        ids.dedup();
        ids
    }
}

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::compat::{Api, ApiVersions, CLIENTS, Client, Release, error_codes, releases, verdict};
use crate::model::{CompressionType, RecordFormat};
use crate::py::option_values::{choice, released_format};

type VersionRow = (i16, Option<i16>, &'static str, Option<&'static str>, &'static str, bool, &'static str, Option<&'static str>);
type ClientRow =
    (&'static str, Option<i16>, Option<i16>, &'static str, Vec<&'static str>, Vec<&'static str>, &'static str, &'static str, &'static str);

/// Rows of the table of a request; see `logsegment.compat`.
#[pyfunction]
pub fn compat_versions(api: &str) -> PyResult<Vec<VersionRow>> {
    Ok(named(api)?.versions().iter().map(version_row).collect())
}

/// Rows of the table of clients; see `logsegment.compat`.
#[pyfunction]
pub fn compat_clients() -> Vec<ClientRow> {
    CLIENTS.iter().map(client_row).collect()
}

/// The row of a client release, by its number in the table.
#[pyfunction]
pub fn compat_client(release: &str) -> Option<usize> {
    let found = releases::client_of(release)?;
    CLIENTS.iter().position(|row| row == found)
}

/// Kafka's error codes; see `logsegment.compat`.
#[pyfunction]
pub fn compat_errors() -> Vec<(i16, &'static str, &'static str)> {
    error_codes::ALL.iter().map(|error| (error.code, error.name, error.when)).collect()
}

/// Return the response to records in a request: error code, format of a conversion, advice.
#[pyfunction]
pub fn compat_verdict(
    api: &str,
    version: i16,
    release: Option<&str>,
    format: &str,
    compression: &str,
) -> PyResult<(Option<i16>, Option<&'static str>, String)> {
    let release = release_named(release)?;
    let format = released_format("format", format)?;
    let compression = compression_named(compression)?;
    let Some(verdict) = verdict(named(api)?, version, release, format, compression) else {
        return Err(PyValueError::new_err(format!("api_version must be 0 or more, not {version}")));
    };
    Ok((verdict.error.map(|error| error.code), verdict.converted.map(RecordFormat::name), verdict.advice))
}

/// Fails with ValueError for text that is not a release of Kafka.
pub fn release_named(name: Option<&str>) -> PyResult<Option<Release>> {
    let release = name.map(|name| {
        Release::parse(name)
            .ok_or_else(|| PyValueError::new_err(format!("release must be a release of Kafka, such as '3.9.1', not {name:?}")))
    });
    release.transpose()
}

fn named(api: &str) -> PyResult<Api> {
    choice("api", api, [("produce", Api::Produce), ("fetch", Api::Fetch)])
}

fn compression_named(name: &str) -> PyResult<CompressionType> {
    let known = (0..5).map(CompressionType::from_id).find(|compression| compression.name() == name);
    known.ok_or_else(|| {
        let message = format!("Unknown compression name: {name} (use none, gzip, snappy, lz4, zstd)");
        crate::py::errors::UnknownCompressionError::new_err(message)
    })
}

fn version_row(row: &ApiVersions) -> VersionRow {
    (row.first, row.last, row.since, row.until, row.format.name(), row.has_zstd, row.note, row.zstd_since)
}

fn client_row(row: &Client) -> ClientRow {
    let reads = row.reads.iter().map(|format| format.name()).collect();
    (row.since, row.produce, row.fetch, row.writes.name(), reads, row.compressions.to_vec(), row.lz4_written, row.lz4_read, row.note)
}

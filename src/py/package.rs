//! The part of the Python package that the core uses: two classes, and functions for key rings and plugin registries. The package registers
//! them when it is imported, so that the core imports no module of the package.

use std::sync::OnceLock;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

struct Package {
    store_uri: Py<PyAny>,
    io_stats: Py<PyAny>,
    registry_error: Py<PyAny>,
    data_key: Py<PyAny>,
    resolver: Py<PyAny>,
}

static PACKAGE: OnceLock<Package> = OnceLock::new();

/// Register the part of the package that the core uses. The package calls it once, when it is imported.
///
/// Args:
///     store_uri: the class of URIs, which shows no options.
///     io_stats: the class of counters.
///     registry_error: gets a text, and returns the error of a plugin registry.
///     data_key: gets the text of a key ring, the id of a key, the wrapped key and the name of the segment, and returns the data key.
///     resolver: gets a plugin registry, and True for the work of a broker, and returns the look-ups of its codecs.
#[pyfunction]
pub fn register_package(store_uri: Py<PyAny>, io_stats: Py<PyAny>, registry_error: Py<PyAny>, data_key: Py<PyAny>, resolver: Py<PyAny>) {
    drop(PACKAGE.set(Package { store_uri, io_stats, registry_error, data_key, resolver }));
}

/// A URI as text that shows no options.
///
/// # Errors
/// ImportError before the package was imported, as the others.
pub fn store_uri<'py>(py: Python<'py>, uri: &str) -> PyResult<Bound<'py, PyAny>> {
    package()?.store_uri.bind(py).call1((uri,))
}

/// Counters by name.
///
/// # Errors
/// As `store_uri`.
pub fn io_stats(counts: &Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    package()?.io_stats.call1(counts.py(), (counts,))
}

/// The error of a registry.
pub fn registry_error(py: Python<'_>, text: String) -> PyErr {
    let raised = package().and_then(|package| package.registry_error.bind(py).call1((text,)));
    raised.map_or_else(|failed| failed, PyErr::from_value)
}

/// The data key of a segment.
///
/// # Errors
/// As `store_uri`, and those of the key ring.
pub fn data_key(py: Python<'_>, ring: &str, key_id: &str, wrapped: &[u8], name: &str) -> PyResult<Vec<u8>> {
    package()?.data_key.call1(py, (ring, key_id, PyBytes::new(py, wrapped), name))?.extract(py)
}

/// Returns the resolver of a plugin registry, which finds its codecs, or the option for a registry that was not given.
///
/// # Errors
/// As `store_uri`, and those of the registry.
pub fn resolver(registry: &Bound<'_, PyAny>, is_of_brokers: bool) -> PyResult<Py<PyAny>> {
    package()?.resolver.call1(registry.py(), (registry, is_of_brokers))
}

fn package() -> PyResult<&'static Package> {
    PACKAGE.get().ok_or_else(|| PyImportError::new_err("import logsegment first"))
}

//! Plugins that are Python objects. The interpreter is taken for the call of a codec and given back; bytes are lent, not copied, both ways.
//!
//! What is called here is `logsegment.plugins.resolver.Resolver`, which looks into a registry and makes codecs.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::codec::{NativeCodec, PluginCodecs, Plugins};
use crate::error::{Error, ErrorKind, Result, escaped};
use crate::py::native_codec;
use crate::py::package;
use crate::py::shared_bytes::{SharedBytes, SharedChunk};
use crate::py::source::buffer;
use crate::wire::Sink;

/// The codecs that a `PluginResolver` finds.
struct PluginResolver {
    object: Py<PyAny>,
    /// Known entries by id.
    known: [OnceLock<KnownPlugin>; 16],
}

enum KnownPlugin {
    Unregistered,
    Missing { alias: String, class: String, version: String, reason: String },
    Found { alias: String, class: String, compress: Py<PyAny>, decompress: Py<PyAny>, native: Option<NativeCodec> },
}

/// Alias, class, version, the codec or nothing, and why there is none.
type PluginRow = (String, String, String, Option<Py<PyAny>>, String);
/// `compress`, `decompress`, and functions of C where there are some.
type CodecMethods = (Py<PyAny>, Py<PyAny>, Option<NativeCodec>);

const NO_BUFFER: &str = "its result is not a buffer of bytes:";

/// Returns the plugins that a registry names to clients; none without a registry.
pub fn of_clients(registry: Option<Bound<'_, PyAny>>) -> PyResult<Plugins> {
    of_registry(registry, false)
}

/// Returns the plugins that a registry names to brokers, by the entries of Java; none without a registry.
pub fn of_brokers(registry: Option<Bound<'_, PyAny>>) -> PyResult<Plugins> {
    of_registry(registry, true)
}

fn of_registry(registry: Option<Bound<'_, PyAny>>, is_of_brokers: bool) -> PyResult<Plugins> {
    let Some(registry) = registry else { return Ok(Plugins::default()) };
    let object = package::resolver(&registry, is_of_brokers)?;
    // A text is the option for a registry, which errors name.
    Ok(match object.extract::<String>(registry.py()) {
        Ok(option) => Plugins::absent(&option),
        Err(_) => Plugins::new(Arc::new(PluginResolver { object, known: Default::default() })),
    })
}

impl PluginCodecs for PluginResolver {
    fn alias(&self, id: u8) -> Option<String> {
        match attached(|py| self.known(py, id)) {
            Ok(KnownPlugin::Missing { alias, .. } | KnownPlugin::Found { alias, .. }) => Some(alias.clone()),
            Ok(KnownPlugin::Unregistered) | Err(_) => None,
        }
    }

    fn find(&self, alias: &str) -> Result<Option<u8>> {
        let found = attached(|py| {
            let found = self.object.call_method1(py, "by_alias", (alias,)).map_err(|error| self.registry_failed(py, &error))?;
            found.extract::<Option<u8>>(py).map_err(|error| self.registry_failed(py, &error))
        })?;
        if let Some(id) = found {
            self.ensure(id)?;
        }
        Ok(found)
    }

    fn ensure(&self, id: u8) -> Result<()> {
        attached(|py| self.found(py, id).map(|_| ()))
    }

    fn native(&self, id: u8) -> Result<Option<&NativeCodec>> {
        let known = self.known.get(usize::from(id)).and_then(OnceLock::get);
        match known {
            Some(KnownPlugin::Found { native, .. }) => Ok(native.as_ref()),
            _ => {
                self.ensure(id)?;
                match self.known.get(usize::from(id)).and_then(OnceLock::get) {
                    Some(KnownPlugin::Found { native, .. }) => Ok(native.as_ref()),
                    _ => Ok(None),
                }
            }
        }
    }

    fn decompress(&self, id: u8, compressed: Bytes, most: usize, given: &mut Bytes) -> Result<()> {
        attached(|py| {
            *given = Bytes::new();
            let (_, decompress) = self.found(py, id)?;
            let failed = |error: PyErr| self.failed(py, id, "it raised", &error);
            let view = PyMemoryView::from(Bound::new(py, SharedBytes(compressed)).map_err(failed)?.as_any()).map_err(failed)?;
            let decompressed = decompress.bind(py).call1((view, most)).map_err(failed)?;
            *given = buffer::bytes_of(&decompressed).map_err(|error| self.failed(py, id, NO_BUFFER, &error))?;
            Ok(())
        })
    }

    fn compress(&self, id: u8, input: &mut Sink, level: Option<i32>, out: &mut Sink) -> Result<()> {
        attached(|py| {
            let (compress, _) = self.found(py, id)?;
            let failed = |error: PyErr| self.failed(py, id, "it raised", &error);
            let shown = Bound::new(py, SharedChunk::new(std::mem::take(input))).map_err(failed)?;
            let compressed = {
                let view = PyMemoryView::from(shown.as_any()).map_err(failed)?;
                let given = compress.bind(py).call1((view, level)).map_err(failed)?;
                buffer::bytes_of(&given).map_err(|error| self.failed(py, id, NO_BUFFER, &error))?
            };
            out.put(&compressed);
            drop(compressed);
            *input = shown.get().take_back();
            Ok(())
        })
    }

    fn describe(&self, id: u8) -> String {
        match self.known.get(usize::from(id)).and_then(OnceLock::get) {
            Some(KnownPlugin::Found { alias, class, .. } | KnownPlugin::Missing { alias, class, .. }) => {
                format!("plugin {alias:?} (id {id}, class {class})")
            }
            _ => format!("plugin {id}"),
        }
    }
}

impl PluginResolver {
    /// Returns the registry's entry of an id, which is requested once.
    fn known(&self, py: Python<'_>, id: u8) -> Result<&KnownPlugin> {
        let unknown = || Error::from(ErrorKind::UnknownPlugin { id, wanted: None });
        let slot = self.known.get(usize::from(id)).ok_or_else(unknown)?;
        if let Some(known) = slot.get() {
            return Ok(known);
        }
        let known = self.look_up(py, id).map_err(|error| self.registry_failed(py, &error))?;
        // Whoever was first: nobody may wait for another thread here, which may wait for the interpreter.
        let _ = slot.set(known);
        slot.get().ok_or_else(unknown)
    }

    fn look_up(&self, py: Python<'_>, id: u8) -> PyResult<KnownPlugin> {
        let found: Option<PluginRow> = self.object.call_method1(py, "by_id", (id,))?.extract(py)?;
        let Some((alias, class, version, codec, reason)) = found else { return Ok(KnownPlugin::Unregistered) };
        // What others wrote into a registry, or raised, is shown in errors.
        let (class, version) = (escaped(&class), escaped(&version));
        let missing = |reason: &str| KnownPlugin::Missing { alias: alias.clone(), class: class.clone(), version, reason: escaped(reason) };
        let Some(codec) = codec else { return Ok(missing(&reason)) };
        match self.methods(py, codec.bind(py))? {
            Ok((compress, decompress, native)) => Ok(KnownPlugin::Found { alias, class, compress, decompress, native }),
            Err(reason) => Ok(missing(&reason)),
        }
    }

    /// Returns the methods of a codec, or a text if it has none.
    fn methods(&self, py: Python<'_>, codec: &Bound<'_, PyAny>) -> PyResult<std::result::Result<CodecMethods, String>> {
        let asked = || -> PyResult<std::result::Result<CodecMethods, String>> {
            let native = match native_codec::of(codec)? {
                Ok(native) => native,
                Err(reason) => return Ok(Err(reason)),
            };
            // Whoever has C functions need not have these as well, which are not called then.
            let method = |name| if native.is_some() { Ok(codec.clone()) } else { codec.getattr(name) };
            Ok(Ok((method("compress")?.unbind(), method("decompress")?.unbind(), native)))
        };
        match asked() {
            Err(error) if self.is_stop(py, &error) => Err(error),
            Err(error) => Ok(Err(text_of(py, &error))),
            found => found,
        }
    }

    /// `compress` and `decompress` of a plugin that can be called.
    fn found(&self, py: Python<'_>, id: u8) -> Result<(&Py<PyAny>, &Py<PyAny>)> {
        let kind = match self.known(py, id)? {
            KnownPlugin::Found { compress, decompress, .. } => return Ok((compress, decompress)),
            KnownPlugin::Unregistered => ErrorKind::UnknownPlugin { id, wanted: None },
            KnownPlugin::Missing { alias, class, version, reason } => {
                let (alias, class, version, reason) = (alias.clone(), class.clone(), version.clone(), reason.clone());
                ErrorKind::PluginMissing { id, alias, class, version, reason }
            }
        };
        Err(kind.into())
    }
}

impl PluginResolver {
    /// Converts an exception of a codec. A signal that interrupted the codec is not an error of the codec.
    #[cold]
    fn failed(&self, py: Python<'_>, id: u8, what: &str, error: &PyErr) -> Error {
        if self.is_stop(py, error) {
            return ErrorKind::Interrupted.into();
        }
        ErrorKind::Plugin { plugin: self.describe(id), problem: format!("{what} {}", text_of(py, error)) }.into()
    }

    #[cold]
    fn registry_failed(&self, py: Python<'_>, error: &PyErr) -> Error {
        if self.is_stop(py, error) {
            return ErrorKind::Interrupted.into();
        }
        ErrorKind::Registry { problem: text_of(py, error) }.into()
    }

    /// True for an exception of a signal. The end of the program must not become a skipped batch.
    fn is_stop(&self, py: Python<'_>, error: &PyErr) -> bool {
        if error.is_instance_of::<PyException>(py) {
            return false;
        }
        let raised = error.clone_ref(py).into_value(py);
        let asked = self.object.call_method1(py, "is_stop", (raised,)).and_then(|answer| answer.extract::<bool>(py));
        asked.unwrap_or_else(|_| error.is_instance_of::<PyKeyboardInterrupt>(py))
    }
}

/// Works with the interpreter; while that shuts down there is none, and nobody waits for the result.
fn attached<T>(work: impl FnOnce(Python<'_>) -> Result<T>) -> Result<T> {
    Python::try_attach(work).unwrap_or_else(|| Err(ErrorKind::Interrupted.into()))
}

/// Class and text of an exception, as they can be shown.
fn text_of(py: Python<'_>, error: &PyErr) -> String {
    let class = error.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    let text = error.value(py).str().map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned());
    let line = escaped(&text);
    if line.is_empty() { escaped(&class) } else { format!("{}: {line}", escaped(&class)) }
}

//! Codecs that are not built in: the caller supplies them, and a batch names one by its id (S-P1 to S-P6).
//!
//! Compressed bytes go in and decompressed bytes come out as counted memory, so that neither is copied. The output of a plugin is trusted no
//! more than the bytes of a file. Knows neither how plugins are found nor in what language they are written.

mod native;

pub use native::{CodecTable, NativeCodec};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use bytes::Bytes;

use super::output::{Decompressed, Output};
use crate::error::{Error, ErrorKind, Result, plural};
use crate::limits::{Budget, Limits};
use crate::model::CompressionType;
use crate::wire::Sink;

/// Finds plugins and calls them. Implementations name the plugin in their errors.
pub trait PluginCodecs: Send + Sync {
    /// The alias of the plugin with this id; `None` when it is not known.
    fn alias(&self, id: u8) -> Option<String>;

    /// The id of the plugin with this alias; `None` when there is none.
    ///
    /// # Errors
    /// `PluginMissing` for one that is registered and cannot be called here; those of the registry.
    fn find(&self, alias: &str) -> Result<Option<u8>>;

    /// Fails unless the plugin with this id can be called.
    ///
    /// # Errors
    /// `UnknownPlugin`, `PluginMissing`, those of the registry.
    fn ensure(&self, id: u8) -> Result<()>;

    /// Returns the plugin with this id if it is C functions; `decompress` and `compress` are for the others.
    ///
    /// # Errors
    /// As `ensure`.
    fn native(&self, id: u8) -> Result<Option<&NativeCodec>> {
        self.ensure(id).map(|()| None)
    }

    /// Replaces `given` by the decompressed bytes of a stream, which should be `most` at most. The bytes of the call before are dropped first,
    /// so that their memory can be used again, and the interpreter is attached once.
    ///
    /// # Errors
    /// As `ensure`, and `Plugin` when the plugin fails.
    fn decompress(&self, id: u8, compressed: Bytes, most: usize, given: &mut Bytes) -> Result<()>;

    /// Compresses all of `input` as one stream and appends it to `out`. `input` may be empty afterwards.
    ///
    /// # Errors
    /// As `ensure`, and `Plugin` when the plugin fails.
    fn compress(&self, id: u8, input: &mut Sink, level: Option<i32>, out: &mut Sink) -> Result<()>;

    /// How errors call the plugin.
    fn describe(&self, id: u8) -> String;
}

/// Where the decompressed bytes of a plugin go: a buffer of the caller, or memory of the plugin.
pub struct PluginOutput<'a> {
    /// The buffer that C functions write into.
    pub buffer: &'a mut Decompressed,
    /// The bytes that other plugins returned; the bytes of the call before are still there.
    pub given: &'a mut Bytes,
}

/// Where a plugin put the decompressed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputPlacement {
    /// In the buffer.
    Buffer,
    /// In memory of the plugin.
    Given,
}

/// The plugins that a caller supplied, or none.
#[derive(Clone, Default)]
pub struct Plugins {
    loaded: Option<Arc<LoadedPlugin>>,
    /// What names a registry to whoever calls, such as an option of a program.
    wanted: Option<Arc<str>>,
}

struct LoadedPlugin {
    codecs: Arc<dyn PluginCodecs>,
    /// A bit for each id: a batch that this plugin compressed was decompressed again, to the same bytes.
    proven: AtomicU16,
}

impl Plugins {
    /// These.
    pub fn new(codecs: Arc<dyn PluginCodecs>) -> Self {
        Self { loaded: Some(Arc::new(LoadedPlugin { codecs, proven: AtomicU16::new(0) })), wanted: None }
    }

    /// None; errors say that `wanted` would bring some.
    pub fn absent(wanted: &str) -> Self {
        Self { loaded: None, wanted: Some(wanted.into()) }
    }

    /// True when the caller loaded none.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.loaded.is_none()
    }

    /// The compression type with this name: one that is built in, else the plugin with this alias (S-P17).
    ///
    /// # Errors
    /// `UnknownCompressionName`, and those of `PluginCodecs::find`.
    pub fn named(&self, name: &str) -> Result<CompressionType> {
        let built_in = CompressionType::named(name);
        match (&self.loaded, &built_in) {
            (Some(loaded), Err(_)) => loaded.codecs.find(name)?.map_or(built_in, |id| Ok(CompressionType::Plugin(id))),
            _ => built_in,
        }
    }

    /// Calls `take` with the name of a compression type: the alias of a known plugin.
    #[inline]
    pub fn with_name<T>(&self, compression: CompressionType, take: impl FnOnce(&str) -> T) -> T {
        match compression {
            CompressionType::Plugin(id) => take(&self.plugin_name(id)),
            built_in => take(built_in.name()),
        }
    }

    /// Decompresses a stream that lies in `memory`.
    ///
    /// # Errors
    /// `UnknownPlugin` without a registry (S-P19), those of `PluginCodecs::ensure`; `Plugin` when the plugin fails, or gives more than the
    /// budget allows.
    pub fn decompress(&self, id: u8, compressed: &[u8], memory: &Memory, to: PluginOutput<'_>, budget: &Budget) -> Result<OutputPlacement> {
        let codecs = &self.loaded(id).map_err(in_header)?.codecs;
        if let Some(native) = codecs.native(id).map_err(in_header)? {
            native.decompress(compressed, &mut Output::new(to.buffer, budget)?, || codecs.describe(id))?;
            return Ok(OutputPlacement::Buffer);
        }
        codecs.decompress(id, memory.counted(compressed), budget.allowed(), to.given).map_err(in_header)?;
        budget.ensure(to.given.len()).map_err(|error| self.blamed(id, &error))?;
        Ok(OutputPlacement::Given)
    }

    /// Compresses all of `input` and appends it to `out`. `input` may be empty afterwards.
    ///
    /// The first batch of each plugin is decompressed again and compared, so that a broken plugin does not write whole segments that no one
    /// can read. To compare every batch would cost as much as reading them all.
    ///
    /// # Errors
    /// `UnknownPlugin` without a registry (S-P19), those of `PluginCodecs::ensure`, and `Compression` when the plugin fails.
    #[cold]
    pub fn compress(&self, id: u8, input: &mut Sink, level: Option<i32>, out: &mut Sink) -> Result<()> {
        let loaded = self.loaded(id)?;
        let (codecs, start, len) = (&loaded.codecs, out.len(), input.len());
        let bit = 1_u16.checked_shl(u32::from(id)).unwrap_or(0);
        let is_unproven = len > 0 && loaded.proven.load(Ordering::Relaxed) & bit == 0;
        let unproven = is_unproven.then(|| input.bytes().to_vec());
        let compressed = match codecs.native(id)? {
            Some(native) => native.compress(input.bytes(), level, out, || codecs.describe(id)),
            None => codecs.compress(id, input, level, out),
        };
        compressed.map_err(|error| of_compression(&error))?;
        if len > 0 && out.len() == start {
            let problem = format!("its output for {} of records is empty", plural(len, "byte"));
            return Err(ErrorKind::Compression { plugin: codecs.describe(id), problem }.into());
        }
        if let Some(input) = unproven {
            self.ensure_same(id, out.from(start), &input)?;
            loaded.proven.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Fails unless `compressed` decompresses to `input`.
    fn ensure_same(&self, id: u8, compressed: &[u8], input: &[u8]) -> Result<()> {
        let (mut decompressed, mut given) = (Decompressed::default(), Bytes::new());
        let most = u64::try_from(input.len()).unwrap_or(u64::MAX);
        let budget =
            Budget::for_entry(&Limits { max_decompressed_bytes: most, max_ratio: u64::MAX, ..Limits::default() }, compressed.len());
        let to = PluginOutput { buffer: &mut decompressed, given: &mut given };
        let place = self.decompress(id, compressed, &Memory::default(), to, &budget).map_err(|error| of_compression(&error))?;
        let again = if place == OutputPlacement::Buffer { decompressed.bytes() } else { &given };
        if again == input {
            return Ok(());
        }
        let plugin = self.loaded(id)?.codecs.describe(id);
        let problem = format!("its output decompresses to {}, expected {}", plural(again.len(), "byte"), input.len());
        Err(ErrorKind::Compression { plugin, problem }.into())
    }

    /// Returns an error of the decompressed bytes as an error of the plugin, in the same place.
    #[cold]
    pub fn blamed(&self, id: u8, error: &Error) -> Error {
        let plugin = self.loaded.as_ref().map_or_else(String::new, |loaded| loaded.codecs.describe(id));
        let problem = format!("its output is not the records of the batch: {}", error.message());
        error.become_kind(ErrorKind::Plugin { plugin, problem })
    }

    fn loaded(&self, id: u8) -> Result<&LoadedPlugin> {
        let wanted = || self.wanted.clone().unwrap_or_else(|| "codecs=".into());
        self.loaded.as_deref().ok_or_else(|| ErrorKind::UnknownPlugin { id, wanted: Some(wanted()) }.into())
    }

    #[cold]
    fn plugin_name(&self, id: u8) -> String {
        let alias = self.loaded.as_ref().and_then(|loaded| loaded.codecs.alias(id));
        alias.unwrap_or_else(|| CompressionType::Plugin(id).name().to_owned())
    }
}

/// Returns an error of a plugin as one of its compression.
#[cold]
fn of_compression(error: &Error) -> Error {
    match error.kind().clone() {
        ErrorKind::Plugin { plugin, problem } => error.become_kind(ErrorKind::Compression { plugin, problem }),
        _ => error.clone(),
    }
}

/// Sets the field of an error of the id, which is in the header of the batch.
#[cold]
fn in_header(error: Error) -> Error {
    match error.kind() {
        ErrorKind::UnknownPlugin { .. } | ErrorKind::PluginMissing { .. } => error.in_field("attributes"),
        _ => error,
    }
}

impl fmt::Debug for Plugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.loaded.is_some() { "Plugins(..)" } else { "Plugins(none)" })
    }
}

/// Where entries lie in counted memory, so that plugins can be shown parts of them without a copy.
#[derive(Clone, Debug, Default)]
pub struct Memory(Bytes);

impl Memory {
    /// Entries that lie in these bytes.
    pub fn of(bytes: &Bytes) -> Self {
        Self(bytes.clone())
    }

    /// The same bytes as counted memory: a part of this, or a copy when they lie elsewhere.
    pub fn counted(&self, part: &[u8]) -> Bytes {
        let start = part.as_ptr().addr().checked_sub(self.0.as_ptr().addr());
        let range = start.and_then(|start| Some(start..start.checked_add(part.len())?)).filter(|range| range.end <= self.0.len());
        range.map_or_else(|| Bytes::copy_from_slice(part), |range| self.0.slice(range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plugin 3, "twice", whose compressed form is the input twice. It compresses input that ends in "!" to nothing, in "?" to too few bytes.
    struct Twice;

    impl PluginCodecs for Twice {
        fn alias(&self, id: u8) -> Option<String> {
            (id == 3).then(|| "twice".to_owned())
        }
        fn find(&self, alias: &str) -> Result<Option<u8>> {
            Ok((alias == "twice").then_some(3))
        }
        fn ensure(&self, id: u8) -> Result<()> {
            if id == 3 { Ok(()) } else { Err(ErrorKind::UnknownPlugin { id, wanted: None }.into()) }
        }
        fn decompress(&self, id: u8, compressed: Bytes, _: usize, given: &mut Bytes) -> Result<()> {
            self.ensure(id)?;
            *given = compressed.slice(..compressed.len() / 2);
            Ok(())
        }
        fn compress(&self, id: u8, input: &mut Sink, _: Option<i32>, out: &mut Sink) -> Result<()> {
            self.ensure(id)?;
            let kept = match input.bytes().split_last() {
                Some((b'!', _)) => &[],
                Some((b'?', front)) => front,
                _ => input.bytes(),
            };
            (0..2).for_each(|_| out.put(kept));
            Ok(())
        }
        fn describe(&self, id: u8) -> String {
            format!("plugin {id}")
        }
    }

    fn twice() -> Plugins {
        Plugins::new(Arc::new(Twice))
    }

    fn decompress(plugins: &Plugins, id: u8, compressed: &[u8], most: u64) -> Result<Bytes> {
        let budget = Budget::for_entry(&Limits { max_decompressed_bytes: most, ..Limits::default() }, 1 << 20);
        let mut given = Bytes::from_static(b"before");
        let to = PluginOutput { buffer: &mut Decompressed::default(), given: &mut given };
        assert_eq!(plugins.decompress(id, compressed, &Memory::default(), to, &budget)?, OutputPlacement::Given);
        Ok(given)
    }

    #[test]
    fn s_p17_built_in_names_come_first_and_then_aliases() {
        assert_eq!(twice().named("zstd"), Ok(CompressionType::Zstd));
        assert_eq!(twice().named("twice"), Ok(CompressionType::Plugin(3)));
        for plugins in [twice(), Plugins::default()] {
            let error = plugins.named("thrice").unwrap_err();
            assert!(error.message().starts_with("Unknown compression name: thrice (use none, gzip, "), "{error}");
        }
        assert!(Plugins::default().named("twice").is_err());
    }

    #[test]
    fn plugins_are_called_by_their_alias_where_it_is_known() {
        let names = [CompressionType::Plugin(3), CompressionType::Plugin(4), CompressionType::Gzip];
        assert_eq!(names.map(|kind| twice().with_name(kind, str::to_owned)), ["twice", "plugin:4", "gzip"]);
        assert_eq!(Plugins::default().with_name(CompressionType::Plugin(3), str::to_owned), "plugin:3");
    }

    #[test]
    fn s_p19_without_a_registry_every_plugin_is_unknown() {
        let error = decompress(&Plugins::default(), 7, b"", 10).unwrap_err();
        assert_eq!((error.rule(), error.kafka_error_code()), ("S-P19", Some(-1)));
        assert!(error.message().starts_with("Unknown compression name: plugin:7 (give codecs=, "), "{error}");
        let error = decompress(&Plugins::absent("--registry"), 7, b"", 10).unwrap_err();
        assert!(error.message().contains("(give --registry, a registry that knows the plugin with the id 7)"), "{error}");
        let error = decompress(&twice(), 7, b"", 10).unwrap_err();
        assert_eq!((error.rule(), error.kafka_error_code()), ("S-P19", None));
    }

    #[test]
    fn s_p6_output_that_is_empty_or_decompresses_to_other_bytes_is_refused() {
        let compress = |plugins: &Plugins, bytes: &[u8]| {
            let (mut input, mut out) = (Sink::default(), Sink::default());
            input.put(bytes);
            out.put(b"before");
            plugins.compress(3, &mut input, None, &mut out).map(|()| out.bytes().to_vec())
        };
        assert_eq!(compress(&twice(), b"abc"), Ok(b"beforeabcabc".to_vec()));
        assert_eq!(compress(&twice(), b""), Ok(b"before".to_vec()), "empty input");
        for (bytes, text) in [(b"abc!", "output for 4 bytes of records is empty"), (b"abc?", "decompresses to 3 bytes, expected 4")] {
            let error = compress(&twice(), bytes).unwrap_err();
            assert_eq!((error.rule(), error.kind().code(), error.is_about_data()), ("S-P6", "compression", false));
            assert!(error.message().starts_with("plugin 3 failed to compress the batch: ") && error.message().contains(text), "{error}");
        }
        let proven = twice();
        compress(&proven, b"abc").unwrap();
        assert!(compress(&proven.clone(), b"abc?").is_ok(), "only the first batch is read back");
        assert!(compress(&proven, b"abc!").is_err(), "empty output is refused in every batch");
    }

    #[test]
    fn more_than_the_budget_is_a_fault_of_the_plugin() {
        assert_eq!(decompress(&twice(), 3, b"abcabc", 3), Ok(Bytes::from_static(b"abc")));
        let error = decompress(&twice(), 3, b"abcdabcd", 3).unwrap_err();
        assert_eq!(error.kind().code(), "codec");
        assert!(error.message().starts_with("plugin 3: "), "{error}");
        assert!(error.message().contains("max_decompressed_bytes"), "{error}");
    }

    #[test]
    fn parts_of_counted_memory_are_not_copied() {
        let bytes = Bytes::from(b"0123456789".to_vec());
        let memory = Memory::of(&bytes);
        for part in [&bytes[2..5], &bytes[..], &bytes[10..]] {
            assert_eq!(memory.counted(part), part);
            assert_eq!(memory.counted(part).as_ptr(), part.as_ptr());
        }
        let elsewhere = b"0123".to_vec();
        assert_eq!(memory.counted(&elsewhere), &elsewhere[..]);
        assert_ne!(memory.counted(&elsewhere).as_ptr(), elsewhere.as_ptr());
        assert_eq!(Memory::default().counted(b""), &b""[..]);
    }
}

//! Codecs that are not built in: the caller brings them, a batch names one by its id (S-P1 to S-P6).
//!
//! Packed bytes go in and plain ones come out as counted memory, so that neither is copied. What a plugin gives is trusted no more than
//! what stands in a file. Knows neither how plugins are found nor in what language they are written.

mod native;

pub use native::{CodecTable, NativeCodec};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use bytes::Bytes;

use super::output::Output;
use super::plain::Plain;
use crate::error::{Error, ErrorKind, Result, plural};
use crate::limits::{Budget, Limits};
use crate::model::CompressionType;
use crate::wire::Sink;

/// Finds plugins and calls them. Whoever implements it says in the errors which plugin is to blame.
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

    /// The plugin with this id, when it is C functions; the two below are for others.
    ///
    /// # Errors
    /// As `ensure`.
    fn native(&self, id: u8) -> Result<Option<&NativeCodec>> {
        self.ensure(id).map(|()| None)
    }

    /// Puts the plain bytes of a packed stream, which should be `most` at most, in the place of those `given` before, which go first: so
    /// their memory can be used again, and whoever must be held to let them go is held once.
    ///
    /// # Errors
    /// As `ensure`, and `Plugin` when the plugin fails.
    fn unpack(&self, id: u8, packed: Bytes, most: usize, given: &mut Bytes) -> Result<()>;

    /// Packs all of `plain` as one stream and writes it behind what `out` holds. `plain` may be given back empty.
    ///
    /// # Errors
    /// As `ensure`, and `Plugin` when the plugin fails.
    fn pack(&self, id: u8, plain: &mut Sink, level: Option<i32>, out: &mut Sink) -> Result<()>;

    /// How errors call the plugin.
    fn describe(&self, id: u8) -> String;
}

/// Where a plugin's plain bytes go: storage of ours, or memory that the plugin gives.
pub struct Unpacked<'a> {
    /// What C functions write to.
    pub plain: &'a mut Plain,
    /// What other plugins gave; what they gave before is still there.
    pub given: &'a mut Bytes,
}

/// Which of the two it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Our storage.
    Plain,
    /// The plugin's memory.
    Given,
}

/// The plugins that a caller brought, or none.
#[derive(Clone, Default)]
pub struct Plugins {
    brought: Option<Arc<Brought>>,
    /// What names a registry to whoever calls, such as an option of a program.
    wanted: Option<Arc<str>>,
}

struct Brought {
    codecs: Arc<dyn PluginCodecs>,
    /// A bit for each id: a batch that this plugin packed was unpacked again, to the same bytes.
    proven: AtomicU16,
}

impl Plugins {
    /// These.
    pub fn new(codecs: Arc<dyn PluginCodecs>) -> Self {
        Self { brought: Some(Arc::new(Brought { codecs, proven: AtomicU16::new(0) })), wanted: None }
    }

    /// None; errors say that `wanted` would bring some.
    pub fn absent(wanted: &str) -> Self {
        Self { brought: None, wanted: Some(wanted.into()) }
    }

    /// True when the caller brought none.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.brought.is_none()
    }

    /// The compression type with this name: one that is built in, else the plugin with this alias (S-P17).
    ///
    /// # Errors
    /// `UnknownCompressionName`, and those of `PluginCodecs::find`.
    pub fn named(&self, name: &str) -> Result<CompressionType> {
        let built_in = CompressionType::named(name);
        match (&self.brought, &built_in) {
            (Some(brought), Err(_)) => brought.codecs.find(name)?.map_or(built_in, |id| Ok(CompressionType::Plugin(id))),
            _ => built_in,
        }
    }

    /// Tells the name of a compression type to `take`: of a plugin the alias, where it is known.
    #[inline]
    pub fn tell_name<T>(&self, compression: CompressionType, take: impl FnOnce(&str) -> T) -> T {
        match compression {
            CompressionType::Plugin(id) => take(&self.plugin_name(id)),
            built_in => take(built_in.name()),
        }
    }

    /// Fails unless the plugin with this id can be called.
    ///
    /// # Errors
    /// `UnknownPlugin` without a registry (S-P19), and those of `PluginCodecs::ensure`.
    pub fn ensure(&self, id: u8) -> Result<()> {
        self.brought(id).and_then(|brought| brought.codecs.ensure(id)).map_err(in_header)
    }

    /// Unpacks a stream that lies in `memory`.
    ///
    /// # Errors
    /// As `ensure`; `Plugin` when the plugin fails, or gives more than the budget allows.
    pub fn unpack(&self, id: u8, packed: &[u8], memory: &Memory, to: Unpacked<'_>, budget: &Budget) -> Result<Place> {
        let codecs = &self.brought(id).map_err(in_header)?.codecs;
        if let Some(native) = codecs.native(id).map_err(in_header)? {
            native.unpack(packed, &mut Output::new(to.plain, budget)?, || codecs.describe(id))?;
            return Ok(Place::Plain);
        }
        codecs.unpack(id, memory.counted(packed), budget.allowed(), to.given).map_err(in_header)?;
        budget.ensure(to.given.len()).map_err(|error| self.blamed(id, &error))?;
        Ok(Place::Given)
    }

    /// Packs all of `plain` and writes it behind what `out` holds. `plain` may be given back empty.
    ///
    /// The first batch of each plugin is unpacked again and compared: from one that is no codec whole segments would be packed to nothing
    /// that can be read. To do so with every batch would cost as much as reading them all.
    ///
    /// # Errors
    /// As `ensure`, and `Packing` when the plugin fails.
    #[cold]
    pub fn pack(&self, id: u8, plain: &mut Sink, level: Option<i32>, out: &mut Sink) -> Result<()> {
        let brought = self.brought(id)?;
        let (codecs, start, len) = (&brought.codecs, out.len(), plain.len());
        let bit = 1_u16.checked_shl(u32::from(id)).unwrap_or(0);
        let is_unproven = len > 0 && brought.proven.load(Ordering::Relaxed) & bit == 0;
        let unproven = is_unproven.then(|| plain.bytes().to_vec());
        let packed = match codecs.native(id)? {
            Some(native) => native.pack(plain.bytes(), level, out, || codecs.describe(id)),
            None => codecs.pack(id, plain, level, out),
        };
        packed.map_err(|error| of_packing(&error))?;
        if len > 0 && out.len() == start {
            let fault = format!("it packed {} of records to nothing", plural(len, "byte"));
            return Err(ErrorKind::Packing { plugin: codecs.describe(id), problem: fault }.into());
        }
        if let Some(plain) = unproven {
            self.ensure_same(id, out.from(start), &plain)?;
            brought.proven.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Fails unless packed bytes unpack to these.
    fn ensure_same(&self, id: u8, packed: &[u8], plain: &[u8]) -> Result<()> {
        let (mut unpacked, mut given) = (Plain::default(), Bytes::new());
        let most = u64::try_from(plain.len()).unwrap_or(u64::MAX);
        let budget = Budget::for_entry(&Limits { max_decompressed_bytes: most, max_ratio: u64::MAX, ..Limits::default() }, packed.len());
        let to = Unpacked { plain: &mut unpacked, given: &mut given };
        let place = self.unpack(id, packed, &Memory::default(), to, &budget).map_err(|error| of_packing(&error))?;
        let again = if place == Place::Plain { unpacked.bytes() } else { &given };
        if again == plain {
            return Ok(());
        }
        let plugin = self.brought(id)?.codecs.describe(id);
        let fault =
            format!("what it packed unpacks to {}, not to the {} that it was given", plural(again.len(), "other byte"), plain.len());
        Err(ErrorKind::Packing { plugin, problem: fault }.into())
    }

    /// What is wrong with the plain bytes that a plugin gave, as a fault of the plugin, in the same place.
    #[cold]
    pub fn blamed(&self, id: u8, error: &Error) -> Error {
        let plugin = self.brought.as_ref().map_or_else(String::new, |brought| brought.codecs.describe(id));
        let fault = format!("what it gave is not the records of the batch: {}", error.message());
        error.become_kind(ErrorKind::Plugin { plugin, problem: fault })
    }

    fn brought(&self, id: u8) -> Result<&Brought> {
        let wanted = || self.wanted.clone().unwrap_or_else(|| "codecs=".into());
        self.brought.as_deref().ok_or_else(|| ErrorKind::UnknownPlugin { id, wanted: Some(wanted()) }.into())
    }

    #[cold]
    fn plugin_name(&self, id: u8) -> String {
        let alias = self.brought.as_ref().and_then(|brought| brought.codecs.alias(id));
        alias.unwrap_or_else(|| CompressionType::Plugin(id).name().to_owned())
    }
}

/// The same fault of a plugin, when it packs.
#[cold]
fn of_packing(error: &Error) -> Error {
    match error.kind().clone() {
        ErrorKind::Plugin { plugin, problem } => error.become_kind(ErrorKind::Packing { plugin, problem }),
        _ => error.clone(),
    }
}

/// What is wrong with the id stands in the header of the batch.
#[cold]
fn in_header(error: Error) -> Error {
    match error.kind() {
        ErrorKind::UnknownPlugin { .. } | ErrorKind::PluginMissing { .. } => error.in_field("attributes"),
        _ => error,
    }
}

impl fmt::Debug for Plugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.brought.is_some() { "Plugins(..)" } else { "Plugins(none)" })
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

    /// Plugin 3, "twice", whose packed form is the plain bytes twice. Plain bytes that end in "!" it packs to nothing, in "?" to too few.
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
        fn unpack(&self, id: u8, packed: Bytes, _: usize, given: &mut Bytes) -> Result<()> {
            self.ensure(id)?;
            *given = packed.slice(..packed.len() / 2);
            Ok(())
        }
        fn pack(&self, id: u8, plain: &mut Sink, _: Option<i32>, out: &mut Sink) -> Result<()> {
            self.ensure(id)?;
            let kept = match plain.bytes().split_last() {
                Some((b'!', _)) => &[],
                Some((b'?', front)) => front,
                _ => plain.bytes(),
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

    fn unpack(plugins: &Plugins, id: u8, packed: &[u8], most: u64) -> Result<Bytes> {
        let budget = Budget::for_entry(&Limits { max_decompressed_bytes: most, ..Limits::default() }, 1 << 20);
        let mut given = Bytes::from_static(b"before");
        let to = Unpacked { plain: &mut Plain::default(), given: &mut given };
        assert_eq!(plugins.unpack(id, packed, &Memory::default(), to, &budget)?, Place::Given);
        Ok(given)
    }

    #[test]
    fn s_p17_built_in_names_come_first_and_then_aliases() {
        assert_eq!(twice().named("zstd"), Ok(CompressionType::Zstd));
        assert_eq!(twice().named("twice"), Ok(CompressionType::Plugin(3)));
        for plugins in [twice(), Plugins::default()] {
            assert_eq!(plugins.named("thrice").map_err(|error| error.message()), Err("Unknown compression name: thrice".to_owned()));
        }
        assert!(Plugins::default().named("twice").is_err());
    }

    #[test]
    fn plugins_are_called_by_their_alias_where_it_is_known() {
        let names = [CompressionType::Plugin(3), CompressionType::Plugin(4), CompressionType::Gzip];
        assert_eq!(names.map(|kind| twice().tell_name(kind, str::to_owned)), ["twice", "plugin:4", "gzip"]);
        assert_eq!(Plugins::default().tell_name(CompressionType::Plugin(3), str::to_owned), "plugin:3");
    }

    #[test]
    fn s_p19_without_a_registry_every_plugin_is_unknown() {
        let error = unpack(&Plugins::default(), 7, b"", 10).unwrap_err();
        assert_eq!((error.rule(), error.kafka_error_code()), ("S-P19", Some(-1)));
        assert!(error.message().starts_with("Unknown compression name: plugin:7 (give codecs=, "), "{error}");
        let error = unpack(&Plugins::absent("--registry"), 7, b"", 10).unwrap_err();
        assert!(error.message().contains("(give --registry, a registry that knows the plugin with the id 7)"), "{error}");
        let error = twice().ensure(7).unwrap_err();
        assert_eq!((error.rule(), error.kafka_error_code()), ("S-P19", None));
    }

    #[test]
    fn s_p6_what_packs_to_nothing_or_to_other_bytes_is_refused() {
        let pack = |plugins: &Plugins, bytes: &[u8]| {
            let (mut plain, mut out) = (Sink::default(), Sink::default());
            plain.put(bytes);
            out.put(b"before");
            plugins.pack(3, &mut plain, None, &mut out).map(|()| out.bytes().to_vec())
        };
        assert_eq!(pack(&twice(), b"abc"), Ok(b"beforeabcabc".to_vec()));
        assert_eq!(pack(&twice(), b""), Ok(b"before".to_vec()), "nothing is nothing");
        for (bytes, told) in [(b"abc!", "packed 4 bytes of records to nothing"), (b"abc?", "unpacks to 3 other bytes, not to the 4")] {
            let error = pack(&twice(), bytes).unwrap_err();
            assert_eq!((error.rule(), error.kind().code(), error.is_about_data()), ("S-P6", "packing", false));
            assert!(error.message().starts_with("plugin 3 failed to pack the batch: ") && error.message().contains(told), "{error}");
        }
        let proven = twice();
        pack(&proven, b"abc").unwrap();
        assert!(pack(&proven.clone(), b"abc?").is_ok(), "only the first batch is read back");
        assert!(pack(&proven, b"abc!").is_err(), "that nothing is nothing shows in every batch");
    }

    #[test]
    fn more_than_the_budget_is_a_fault_of_the_plugin() {
        assert_eq!(unpack(&twice(), 3, b"abcabc", 3), Ok(Bytes::from_static(b"abc")));
        let error = unpack(&twice(), 3, b"abcdabcd", 3).unwrap_err();
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

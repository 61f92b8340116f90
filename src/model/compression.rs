use crate::error::{ErrorKind, Result};

/// The compression type: the number in attributes bits 0-2 (COD table in FORMAT section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompressionType {
    /// 0
    None,
    /// 1
    Gzip,
    /// 2
    Snappy,
    /// 3
    Lz4,
    /// 4
    Zstd,
    /// 5 in magic 2: the plugin with this id, 0 to 15 (S-P1, S-P3).
    Plugin(u8),
    /// 6 and 7, and 5 before magic 2: no codec is assigned (S-P4).
    Unknown(u8),
}

/// The number that says plugin (S-P1).
const PLUGIN: u8 = 5;
/// How plugins are called whose alias is not known.
const PLUGIN_NAMES: [&str; 16] = [
    "plugin:0",
    "plugin:1",
    "plugin:2",
    "plugin:3",
    "plugin:4",
    "plugin:5",
    "plugin:6",
    "plugin:7",
    "plugin:8",
    "plugin:9",
    "plugin:10",
    "plugin:11",
    "plugin:12",
    "plugin:13",
    "plugin:14",
    "plugin:15",
];

impl CompressionType {
    /// The type with this number; other bits say which plugin it is.
    pub fn from_id(id: u8) -> Self {
        match id {
            0 => Self::None,
            1 => Self::Gzip,
            2 => Self::Snappy,
            3 => Self::Lz4,
            4 => Self::Zstd,
            other => Self::Unknown(other),
        }
    }

    /// Its number.
    pub fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
            Self::Plugin(_) => PLUGIN,
            Self::Unknown(id) => id,
        }
    }

    /// The type with this name, exactly as Kafka's clients spell it (COD-1).
    ///
    /// # Errors
    /// `UnknownCompressionName`.
    pub fn named(name: &str) -> Result<Self> {
        let known = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];
        let found = known.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| ErrorKind::UnknownCompressionName { name: name.to_owned() }.into())
    }

    /// The same type, as the plugin with this id when it says plugin.
    #[inline]
    #[must_use]
    pub fn with_plugin(self, id: u8) -> Self {
        if self == Self::Unknown(PLUGIN) { Self::Plugin(id) } else { self }
    }

    /// The id of the plugin that it is.
    pub fn plugin_id(self) -> Option<u8> {
        if let Self::Plugin(id) = self { Some(id) } else { None }
    }

    /// Kafka's name (COD-1); `plugin:3`, `unknown:6` and so on where there is none.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Plugin(id) => PLUGIN_NAMES.get(usize::from(id)).copied().unwrap_or("plugin"),
            Self::Unknown(5) => "unknown:5",
            Self::Unknown(6) => "unknown:6",
            Self::Unknown(_) => "unknown:7",
        }
    }
}

//! A schema in the language of .proto files, and its messages.
//!
//! Source: `ProtobufSchema.toMessageName` in Confluent's schema registry.

use std::collections::HashMap;
use std::sync::OnceLock;

use prost_reflect::{FileDescriptor, MessageDescriptor};
use protox::Compiler;

use super::imports::Imports;

/// A compiled schema with those that it imports.
#[derive(Clone, Debug)]
pub struct ProtoSchema {
    file: FileDescriptor,
    text: String,
    /// The paths of messages by their names, without those around them.
    by_name: OnceLock<HashMap<String, Vec<i32>>>,
    /// The paths of messages in the order of their full names.
    ordered: OnceLock<Vec<Vec<i32>>>,
}

/// The name of the file of a schema, which has none of its own.
const ROOT: &str = "logsegment.root.proto";
/// Most bytes of a text, since its compiler keeps all of it.
const MOST_BYTES: usize = 4 << 20;
/// Most brackets that are open, since its compiler walks into them.
pub(super) const MOST_OPEN: usize = 64;

/// Most messages of a schema that values may be.
const MOST_MESSAGES: usize = 10_000;

impl ProtoSchema {
    /// Compiles a schema. `referenced` are names and texts of the files that it imports.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn parse(text: &str, referenced: &[(String, String)]) -> Result<Self, String> {
        for text in referenced.iter().map(|(_, text)| text.as_str()).chain([text]) {
            ensure_moderate(text)?;
        }
        let imports = Imports::new([(ROOT.to_owned(), text.to_owned())].into_iter().chain(referenced.iter().cloned()));
        let missing = imports.missing();
        let mut compiler = Compiler::with_file_resolver(imports);
        compiler.include_imports(true).open_file(ROOT).map_err(|error| match missing.names().as_slice() {
            [] => format!("not a schema of Protobuf: {error}"),
            names => format!("not a schema of Protobuf: {error}; imported files that are missing: {}", names.join(", ")),
        })?;
        match missing.names().as_slice() {
            [name, ..] if !missing.may_define_options() => return Err(format!("not a schema of Protobuf: import '{name}' not found")),
            _ => {}
        }
        let file = compiler.descriptor_pool().get_file_by_name(ROOT).ok_or("the compiler gave no file")?;
        Ok(Self { file, text: text.to_owned(), by_name: OnceLock::new(), ordered: OnceLock::new() })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The paths of all messages, those inside of messages too.
    pub fn paths(&self) -> Vec<Vec<i32>> {
        let numbered = |count: usize| (0..i32::try_from(count).unwrap_or(i32::MAX)).map(|number| vec![number]);
        let mut found: Vec<Vec<i32>> = numbered(self.file.messages().len()).collect();
        let mut next = 0;
        while let Some(path) = found.get(next).cloned() {
            next += 1;
            let count = self.message(&path).map_or(0, |message| message.child_messages().len());
            found.extend(numbered(count).map(|inner| [path.as_slice(), inner.as_slice()].concat()));
            if found.len() > MOST_MESSAGES {
                break;
            }
        }
        found
    }

    /// The path of the message with a name: the full one, or the one without the package.
    pub fn path_of(&self, name: &str) -> Option<Vec<i32>> {
        let package = self.file.package_name();
        self.paths().into_iter().find(|path| {
            self.message(path).is_some_and(|message| {
                let full = message.full_name();
                full == name || full.strip_prefix(package).is_some_and(|short| short.trim_start_matches('.') == name)
            })
        })
    }

    /// The path of the message that has a name in the message or the file around it; of several the one with fewest messages around it.
    pub fn path_of_short(&self, name: &str) -> Option<&[i32]> {
        let by_name = self.by_name.get_or_init(|| {
            let named = |path: Vec<i32>| Some((self.message(&path)?.name().to_owned(), path));
            // Of two with one name the last is kept.
            self.paths().into_iter().rev().filter_map(named).collect()
        });
        by_name.get(name).map(Vec::as_slice)
    }

    /// The path of the message with a number among all messages in the order of their full names.
    ///
    /// Source: `MessageIndexFinder` in AWS's Glue Schema Registry.
    pub fn path_of_ordinal(&self, number: u64) -> Option<&[i32]> {
        let ordered = self.ordered.get_or_init(|| {
            let mut paths = self.paths();
            paths.sort_by_cached_key(|path| self.message(path).map(|message| message.full_name().to_owned()));
            paths
        });
        ordered.get(usize::try_from(number).ok()?).map(Vec::as_slice)
    }

    /// The message at a path of numbers: that of a message of the file, and of messages inside of it.
    pub fn message(&self, path: &[i32]) -> Option<MessageDescriptor> {
        let (first, inner) = path.split_first()?;
        let mut found = self.file.messages().nth(usize::try_from(*first).ok()?)?;
        for number in inner {
            let next = found.child_messages().nth(usize::try_from(*number).ok()?)?;
            found = next;
        }
        Some(found)
    }
}

fn ensure_moderate(text: &str) -> Result<(), String> {
    let mut open = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'{' | b'<' | b'[' | b'(' => open += 1,
            b'}' | b'>' | b']' | b')' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MOST_OPEN {
            return Err(format!("more than {MOST_OPEN} levels"));
        }
    }
    if text.len() > MOST_BYTES { Err(format!("more than {MOST_BYTES} bytes")) } else { Ok(()) }
}

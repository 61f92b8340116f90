//! The files of a compilation: texts of the caller, known files, and nothing in place of files that are missing.
//!
//! Options that values do not depend on are left out, so that a schema may have those of a file that is missing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, UninterpretedOption};
use protox::file::{File, FileResolver, GoogleFileResolver};

use super::known::known_file;

/// Files by the names that imports have for them.
pub struct Imports {
    texts: HashMap<String, String>,
    /// The first name of each text.
    names: HashMap<String, String>,
    missing: MissingImports,
}

/// The files that are missing, of a compilation that continues without them.
#[derive(Clone, Default)]
pub struct MissingImports(Arc<Mutex<AbsentImports>>);

#[derive(Default)]
struct AbsentImports {
    names: Vec<String>,
    /// A file had options that are defined elsewhere.
    has_options: bool,
}

impl MissingImports {
    /// The names, in the order of the imports.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).names.clone()
    }

    /// True if the missing files may be those that define options, which are left out.
    pub fn may_define_options(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).has_options
    }

    fn add(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).names.push(name.to_owned());
    }
}

impl Imports {
    /// Files with these names and texts.
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let (mut texts, mut names) = (HashMap::new(), HashMap::new());
        for (name, text) in files {
            names.entry(text.clone()).or_insert_with(|| name.clone());
            texts.insert(name, text);
        }
        Self { texts, names, missing: MissingImports::default() }
    }

    /// Where the names of missing files will be.
    pub fn missing(&self) -> MissingImports {
        self.missing.clone()
    }

    fn parsed(&self, name: &str, text: &str) -> Result<File, protox::Error> {
        let mut file = File::from_source(name, text)?.file_descriptor_proto().clone();
        if leave_out_options(&mut file) {
            self.missing.0.lock().unwrap_or_else(PoisonError::into_inner).has_options = true;
        }
        Ok(File::from_file_descriptor_proto(file))
    }
}

impl FileResolver for Imports {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if let Some(text) = self.texts.get(name) {
            return match self.names.get(text) {
                // A file that has two names is compiled once: a type may be defined once only.
                Some(first) if first != name => Ok(File::from_file_descriptor_proto(alias(name, first))),
                _ => match serialized(name, text) {
                    Some(file) => Ok(file),
                    None => self.parsed(name, text),
                },
            };
        }
        if let Some(text) = known_file(name) {
            return self.parsed(name, text);
        }
        match GoogleFileResolver::new().open_file(name) {
            Err(error) if error.is_file_not_found() => {
                self.missing.add(name);
                Ok(File::from_file_descriptor_proto(FileDescriptorProto { name: Some(name.to_owned()), ..Default::default() }))
            }
            opened => opened,
        }
    }
}

/// A file that has all of another file.
fn alias(name: &str, of: &str) -> FileDescriptorProto {
    FileDescriptorProto { name: Some(name.to_owned()), dependency: vec![of.to_owned()], public_dependency: vec![0], ..Default::default() }
}

/// The file of a descriptor as base64, as Confluent's serializer for Python registers it; no text of a .proto file is base64.
///
/// Source: `_schema_to_str` in confluent_kafka.schema_registry.protobuf, `ProtobufSchema` in Confluent's schema registry.
fn serialized(name: &str, text: &str) -> Option<File> {
    let bytes = STANDARD.decode(text.trim()).ok().filter(|bytes| !bytes.is_empty())?;
    let mut descriptor = File::decode_file_descriptor_proto(bytes.as_slice()).ok()?.file_descriptor_proto().clone();
    // Its name is the one that importing files know it by, not the one that it was compiled with.
    descriptor.name = Some(name.to_owned());
    Some(File::from_file_descriptor_proto(descriptor))
}

/// The options on which values, or whether the file compiles, depend.
const NEEDED: [&str; 4] = ["packed", "allow_alias", "message_set_wire_format", "map_entry"];

/// Leaves out options that values do not depend on; true if one of them is defined in another file.
fn leave_out_options(file: &mut FileDescriptorProto) -> bool {
    let mut left_out = UndefinedOptions::default();
    left_out.of(file.options.as_mut().map(|options| &mut options.uninterpreted_option));
    for service in std::mem::take(&mut file.service) {
        left_out.has_extension |= service.options.is_some() || service.method.iter().any(|method| method.options.is_some());
    }
    file.message_type.iter_mut().for_each(|message| left_out.of_message(message));
    file.enum_type.iter_mut().for_each(|of| left_out.of_enum(of));
    file.extension.iter_mut().for_each(|field| left_out.of_field(field));
    left_out.has_extension
}

/// The options that are left out.
#[derive(Default)]
struct UndefinedOptions {
    /// One of them is defined in another file.
    has_extension: bool,
}

impl UndefinedOptions {
    fn of(&mut self, options: Option<&mut Vec<UninterpretedOption>>) {
        let Some(options) = options else { return };
        self.has_extension |= options.iter().any(|option| option.name.iter().any(|name| name.is_extension));
        options.retain(is_needed);
    }

    fn of_message(&mut self, message: &mut DescriptorProto) {
        self.of(message.options.as_mut().map(|options| &mut options.uninterpreted_option));
        for range in &mut message.extension_range {
            self.has_extension |= range.options.take().is_some();
        }
        for oneof in &mut message.oneof_decl {
            self.of(oneof.options.as_mut().map(|options| &mut options.uninterpreted_option));
        }
        message.field.iter_mut().for_each(|field| self.of_field(field));
        message.extension.iter_mut().for_each(|field| self.of_field(field));
        message.enum_type.iter_mut().for_each(|of| self.of_enum(of));
        message.nested_type.iter_mut().for_each(|inner| self.of_message(inner));
    }

    fn of_field(&mut self, field: &mut FieldDescriptorProto) {
        self.of(field.options.as_mut().map(|options| &mut options.uninterpreted_option));
    }

    fn of_enum(&mut self, of: &mut EnumDescriptorProto) {
        self.of(of.options.as_mut().map(|options| &mut options.uninterpreted_option));
        for value in &mut of.value {
            self.of(value.options.as_mut().map(|options| &mut options.uninterpreted_option));
        }
    }
}

fn is_needed(option: &UninterpretedOption) -> bool {
    matches!(option.name.as_slice(), [name] if !name.is_extension && NEEDED.contains(&name.name_part.as_str()))
}

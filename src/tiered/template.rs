//! The template of a user for the names of objects: `{topic}/{partition}/{offset:020}-{id}.log`.
//!
//! The text of a template goes in; the fields of a directory and the offset, id and suffix of an object come out. A template describes the
//! end of a path. The files next to a log have its name with another suffix.

use std::path;

use super::error::{TieredError, TieredResult};
use super::manifest::Index;
use super::names::{
    EPOCH_SUFFIXES, ID_LEN, LOG, MOST_TOPIC, ObjectName, PartitionName, SNAPSHOT_SUFFIXES, broker_stem, digits, is_id, is_topic, split_cut,
};
use crate::stores::StoragePlace;

/// Digits of the longest offset, and of padding.
const MOST_WIDTH: usize = 20;
const FIELDS: &str = "the fields are {topic}, {topic_id}, {partition}, {offset} and {id}, numbers with a width as in {offset:020}";

/// A field of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TemplateField {
    Topic,
    TopicId,
    Partition,
    Offset,
    Id,
}

/// A part of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    /// A field, and the digits to which a number is padded; 0 for any number of digits.
    Field(TemplateField, usize),
}

/// The parts of a name of a directory or a file.
type NameTemplate = Vec<TemplatePart>;

/// A template, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    /// The names of the directories, from the top.
    directories: Vec<NameTemplate>,
    /// The name of a log without its suffix.
    stem: NameTemplate,
}

impl Template {
    /// Parse a template.
    ///
    /// # Errors
    /// `Layout` with the position of the error.
    pub fn parse(text: &str) -> TieredResult<Self> {
        TemplateParser { text, known: Vec::new() }.template()
    }

    /// The text of the template.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the fields in the names of a directory; `None` if its names do not fit.
    pub(super) fn fields_of(&self, directory: &StoragePlace) -> Option<PartitionName> {
        let mut fields = PartitionName::default();
        let mut place = match directory {
            // A relative path has the names above it too.
            StoragePlace::Local(path) => StoragePlace::Local(path::absolute(path).unwrap_or_else(|_| path.clone())),
            StoragePlace::Stored(_) => directory.clone(),
        };
        for parts in self.directories.iter().rev() {
            let name = place.name();
            for (field, value) in matched(parts, &name)? {
                match field {
                    TemplateField::Topic => fields.topic = Some(value.to_owned()),
                    TemplateField::TopicId => fields.topic_id = Some(value.to_owned()),
                    TemplateField::Partition => fields.partition = Some(value.parse().ok()?),
                    TemplateField::Offset | TemplateField::Id => {}
                }
            }
            place = place.parent();
        }
        Some(fields)
    }

    /// Parse the name of a log or of a file next to it; `None` for any other name.
    pub(super) fn object(&self, name: &str) -> Option<ObjectName> {
        let (stem, suffix) = suffixes().find_map(|suffix| Some((name.strip_suffix(suffix)?.strip_suffix('.')?, suffix)))?;
        let found = matched(&self.stem, stem)?;
        let value = |wanted| found.iter().find(|(field, _)| *field == wanted).map(|(_, value)| *value);
        let base_offset = value(TemplateField::Offset)?.parse().ok()?;
        // A broker's snapshot is the state before the offset of its name, not at the end of a segment.
        let is_of_broker = suffix == "snapshot" && broker_stem(stem).is_some();
        // Such a name is that of another object, read before an offset.
        if is_of_broker || split_cut(stem).is_some() {
            return None;
        }
        let segment_id = value(TemplateField::Id).unwrap_or_default().to_owned();
        Some(ObjectName { base_offset, segment_id, suffix: suffix.to_owned(), stem: stem.to_owned() })
    }
}

/// The suffixes of a log and of the files next to it.
fn suffixes() -> impl Iterator<Item = &'static str> {
    let indexes = [Index::Offset, Index::Timestamp, Index::Transaction].map(Index::suffix);
    [LOG].into_iter().chain(indexes).chain(SNAPSHOT_SUFFIXES).chain(EPOCH_SUFFIXES)
}

/// Returns the fields of a name; `None` if it does not fit. A field takes as many letters as it can.
fn matched<'n>(parts: &[TemplatePart], name: &'n str) -> Option<Vec<(TemplateField, &'n str)>> {
    match parts.split_first() {
        None => name.is_empty().then(Vec::new),
        Some((TemplatePart::Text(text), rest)) => matched(rest, name.strip_prefix(text.as_str())?),
        Some((TemplatePart::Field(field, width), rest)) => (1..=field.longest(name)).rev().find_map(|len| {
            let (value, after) = name.split_at_checked(len).filter(|(value, _)| field.has(value, *width))?;
            let mut found = matched(rest, after)?;
            found.push((*field, value));
            Some(found)
        }),
    }
}

impl TemplateField {
    fn of(name: &str) -> Option<Self> {
        [Self::Topic, Self::TopicId, Self::Partition, Self::Offset, Self::Id].into_iter().find(|field| field.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::TopicId => "topic_id",
            Self::Partition => "partition",
            Self::Offset => "offset",
            Self::Id => "id",
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Partition | Self::Offset)
    }

    /// True for a field of directories, false for one of files.
    fn is_of_directory(self) -> bool {
        matches!(self, Self::Topic | Self::TopicId | Self::Partition)
    }

    /// The most bytes that a value at the beginning of a text can have.
    fn longest(self, text: &str) -> usize {
        match self {
            Self::Topic => text.len().min(MOST_TOPIC),
            Self::TopicId => text.len().min(ID_LEN),
            Self::Partition | Self::Offset => text.bytes().take_while(u8::is_ascii_digit).count(),
            Self::Id => text.len(),
        }
    }

    fn has(self, value: &str, width: usize) -> bool {
        // As a formatter writes numbers: a longer one has no zeros before it.
        let is_padded = || width == 0 || value.len() == width || (value.len() > width && !value.starts_with('0'));
        match self {
            Self::Topic => is_topic(value),
            Self::TopicId => is_id(value),
            Self::Partition => digits(value).is_some_and(|digits| digits.parse::<i32>().is_ok()) && is_padded(),
            Self::Offset => digits(value).is_some_and(|digits| digits.parse::<i64>().is_ok()) && is_padded(),
            Self::Id => true,
        }
    }
}

/// Takes a template apart. Positions are bytes.
struct TemplateParser<'t> {
    text: &'t str,
    known: Vec<TemplateField>,
}

impl TemplateParser<'_> {
    fn template(mut self) -> TieredResult<Template> {
        let mut names = Vec::new();
        let (mut at, mut begin) = (0, 0);
        let last = self.text.matches('/').count();
        for (number, name) in self.text.split('/').enumerate() {
            if name.is_empty() && number < last {
                return Err(self.error(at, "empty name of a directory", "the template begins below the path"));
            }
            let stem = if number == last { self.stem(name, at)? } else { name };
            names.push(self.name(stem, at, number == last)?);
            begin = at;
            at += name.len() + 1;
        }
        let stem = names.pop().unwrap_or_default();
        if !self.known.contains(&TemplateField::Offset) {
            return Err(self.error(begin, "no {offset} in the name of the file", FIELDS));
        }
        Ok(Template { text: self.text.to_owned(), directories: names, stem })
    }

    /// The name of a file without the suffix of a log.
    fn stem<'n>(&self, name: &'n str, at: usize) -> TieredResult<&'n str> {
        let stem = name.strip_suffix(LOG).and_then(|stem| stem.strip_suffix('.'));
        stem.ok_or_else(|| self.error(at + name.len(), "no .log at the end", "the files next to a log have its name with other suffixes"))
    }

    fn name(&mut self, name: &str, at: usize, is_file: bool) -> TieredResult<NameTemplate> {
        let mut parts: NameTemplate = Vec::new();
        let mut rest = name;
        loop {
            let here = at + name.len() - rest.len();
            let Some(brace) = rest.find(['{', '}']) else {
                if !rest.is_empty() {
                    parts.push(TemplatePart::Text(rest.to_owned()));
                }
                return Ok(parts);
            };
            let (text, braced) = rest.split_at(brace);
            let position = here + brace;
            if !text.is_empty() {
                parts.push(TemplatePart::Text(text.to_owned()));
            }
            let field = braced.strip_prefix('{').and_then(|inner| inner.split_once('}')).filter(|(field, _)| !field.contains('{'));
            let (field, after) = field.ok_or_else(|| self.error(position, "a brace without the other one", FIELDS))?;
            if matches!(parts.last(), Some(TemplatePart::Field(..))) {
                return Err(self.error(position, "two fields without text between them", "their values would be ambiguous"));
            }
            parts.push(self.field(field, position, is_file)?);
            rest = after;
        }
    }

    fn field(&mut self, text: &str, at: usize, is_file: bool) -> TieredResult<TemplatePart> {
        let (name, width) = text.split_once(':').map_or((text, None), |(name, width)| (name, Some(width)));
        let field = TemplateField::of(name).ok_or_else(|| self.error(at, &format!("unknown field {{{name}}}"), FIELDS))?;
        if self.known.contains(&field) {
            return Err(self.error(at, &format!("{{{name}}} for the second time"), "each field is used once"));
        }
        if field.is_of_directory() == is_file {
            let place =
                if is_file { "the name of a directory, before the last slash" } else { "the name of the file, after the last slash" };
            return Err(self.error(at, &format!("{{{name}}} in the wrong place"), &format!("it belongs in {place}")));
        }
        self.known.push(field);
        let parsed = width.map(|width| width.strip_prefix('0').and_then(digits).and_then(|width| width.parse().ok()));
        match parsed {
            None => Ok(TemplatePart::Field(field, 0)),
            Some(Some(width)) if field.is_number() && (1..=MOST_WIDTH).contains(&width) => Ok(TemplatePart::Field(field, width)),
            Some(_) => Err(self.error(at, &format!("invalid width in {{{text}}}"), FIELDS)),
        }
    }

    fn error(&self, at: usize, problem: &str, hint: &str) -> TieredError {
        let before = self.text.get(..at).map_or(0, |before| before.chars().count());
        TieredError::Layout(format!("invalid layout '{}' at character {}: {problem}; {hint}", self.text, before + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> StoragePlace {
        StoragePlace::Local(path.into())
    }

    #[test]
    fn a_template_takes_names_apart() {
        let template = Template::parse("{topic}/{partition}/{offset:020}-{id}.log").unwrap();
        let fields = template.fields_of(&place("/bucket/orders-x/7")).unwrap();
        assert_eq!((fields.topic.as_deref(), fields.topic_id, fields.partition), (Some("orders-x"), None, Some(7)));
        for other in ["/bucket/orders/x", "/bucket/orders/-1", "/bucket/orders/2147483648", "/7", "/", "/a b/7", "/bucket/ü/7"] {
            assert_eq!(template.fields_of(&place(other)), None, "{other}");
        }
        let object = |name: &str| template.object(name).map(|name| (name.base_offset, name.segment_id, name.suffix, name.stem));
        for (stem, id) in [("00000000000000001234-a.b-5", "a.b-5"), ("00000000000000001234-ü", "ü")] {
            for suffix in ["log", "index", "timeindex", "txnindex", "snapshot", "producer_snapshot", "leader_epoch_checkpoint"] {
                let expected = Some((1234, id.to_owned(), suffix.to_owned(), stem.to_owned()));
                assert_eq!(object(&format!("{stem}.{suffix}")), expected);
            }
        }
        for other in [
            "00000000000000001234.log",
            "00000000000000001234-.log",
            "1234-a.log",
            "000000000000000001234-a.log",
            "-0000000000000001234-a.log",
            "99999999999999999999-a.log",
            "00000000000000001234-a",
            "00000000000000001234-a.txt",
            "00000000000000001234-a-before-00000000000000001300.log",
            ".log",
            "",
        ] {
            assert_eq!(object(other), None, "{other}");
        }
    }

    #[test]
    fn a_field_takes_as_much_as_it_can() {
        let template = Template::parse("p/{topic}-{partition:05}-{topic_id}/seg_{id}-{offset}.log").unwrap();
        let fields = template.fields_of(&place("/p/a-1-00003-AAAAAAAAAAAAAAAAAAAA-Q")).unwrap();
        assert_eq!(fields.topic.as_deref(), Some("a-1"));
        assert_eq!((fields.topic_id.as_deref(), fields.partition), (Some("AAAAAAAAAAAAAAAAAAAA-Q"), Some(3)));
        assert!(template.fields_of(&place("/q/a-1-00003-AAAAAAAAAAAAAAAAAAAA-Q")).is_none());
        assert!(template.fields_of(&place("/p/a-1-3-AAAAAAAAAAAAAAAAAAAA-Q")).is_none());
        let name = template.object("seg_5-6-7.index").unwrap();
        assert_eq!((name.base_offset, name.segment_id.as_str(), name.stem.as_str()), (7, "5-6", "seg_5-6-7"));
        assert!(template.object("seg_-7.log").is_none());
    }

    #[test]
    fn a_snapshot_with_the_name_of_a_broker_is_not_of_the_segment() {
        let template = Template::parse("{offset:020}.log").unwrap();
        assert_eq!(template.object("00000000000000001234.snapshot"), None);
        assert_eq!(template.object("00000000000000001234.producer_snapshot").unwrap().base_offset, 1234);
    }

    #[test]
    fn the_error_of_a_template_names_the_position() {
        for (text, at, problem) in [
            ("", 1, "no .log"),
            (".log", 1, "no {offset}"),
            ("{topic}/{partition}/{id}.log", 21, "no {offset}"),
            ("{offset}", 9, "no .log"),
            ("{topic}/{ofset}.log", 9, "unknown field {ofset}"),
            ("ü/{}.log", 3, "unknown field {}"),
            ("{offset.log", 1, "a brace without"),
            ("a}{offset}.log", 2, "a brace without"),
            ("{a{offset}.log", 1, "a brace without"),
            ("{offset}-{offset}.log", 10, "{offset} for the second time"),
            ("{topic}/{topic}/{offset}.log", 9, "{topic} for the second time"),
            ("{offset}{id}.log", 9, "two fields without text"),
            ("{topic}-{offset}.log", 1, "{topic} in the wrong place"),
            ("{offset}/{id}.log", 1, "{offset} in the wrong place"),
            ("{offset:20}.log", 1, "invalid width in {offset:20}"),
            ("{offset:0}.log", 1, "invalid width"),
            ("{offset:021}.log", 1, "invalid width"),
            ("{offset}-{id:05}.log", 10, "invalid width"),
            ("/{topic}/{offset}.log", 1, "empty name"),
            ("{topic}//{offset}.log", 9, "empty name"),
        ] {
            let TieredError::Layout(error) = Template::parse(text).unwrap_err() else { panic!("{text}") };
            let begin = format!("invalid layout '{text}' at character {at}: {problem}");
            assert!(error.starts_with(&begin), "{error}");
        }
    }
}

//! The keys and values of control records (CTL-2 to CTL-8; the message schemas of Kafka's clients).

use super::field_writer::Scribe;
use super::meaning;
use crate::model::ControlType;
use crate::wire::{Field, Kind};

const VERSION: Field = Field::new("version", Kind::Int(2));
/// An unsigned count, one more than there are, as in all compact arrays and strings.
const COUNT: Field = Field::new("count", Kind::UnsignedVarint);
const TAG_BUFFER: Field = Field::new("tagBuffer", Kind::UnsignedVarint);

/// The key: which kind of marker it is.
pub(super) fn write_key(scribe: &mut Scribe<'_>) {
    scribe.number(VERSION);
    if let Some(id) = scribe.number(Field::new("type", Kind::Int(2))) {
        scribe.note(ControlType::from_id(i16::try_from(id).unwrap_or(-1)).name());
    }
}

/// The value, as the key says what it is.
pub(super) fn write_value(scribe: &mut Scribe<'_>, key: Option<&[u8]>) {
    let Ok(kind) = ControlType::parse(key) else { return };
    match kind {
        ControlType::Unknown(_) => return,
        ControlType::Abort | ControlType::Commit => {
            scribe.numbers(&[VERSION, Field::new("coordinatorEpoch", Kind::Int(4))]);
            return;
        }
        ControlType::LeaderChange => {
            let version = scribe.number(VERSION).unwrap_or(0);
            scribe.number(Field::new("leaderId", Kind::Int(4)));
            for name in ["voters", "grantingVoters"] {
                write_array(scribe, name, |voter| write_voter(voter, version > 0));
            }
        }
        ControlType::SnapshotHeader => {
            scribe.number(VERSION);
            if let Some(time) = scribe.number(Field::new("lastContainedLogTimestamp", Kind::Int(8))) {
                scribe.note(meaning::time(time));
            }
        }
        ControlType::SnapshotFooter => {
            scribe.number(VERSION);
        }
        ControlType::KraftVersion => {
            scribe.numbers(&[VERSION, Field::new("kRaftVersion", Kind::Int(2))]);
        }
        ControlType::KraftVoters => {
            scribe.number(VERSION);
            write_array(scribe, "voters", write_endpoints);
        }
    }
    scribe.number(TAG_BUFFER);
}

fn write_voter(scribe: &mut Scribe<'_>, has_directory: bool) {
    scribe.number(Field::new("voterId", Kind::Int(4)));
    if has_directory {
        scribe.data("voterDirectoryId", 16);
    }
    scribe.number(TAG_BUFFER);
}

fn write_endpoints(scribe: &mut Scribe<'_>) {
    scribe.number(Field::new("voterId", Kind::Int(4)));
    scribe.data("voterDirectoryId", 16);
    write_array(scribe, "endpoints", |endpoint| {
        for name in ["name", "host"] {
            if let Some(len) = endpoint.number(Field::new("length", Kind::UnsignedVarint)) {
                endpoint.data(name, len - 1);
            }
        }
        endpoint.numbers(&[Field::new("port", Kind::Unsigned(2)), TAG_BUFFER]);
    });
    scribe.group("kRaftVersionFeature", |feature| {
        let version = |name| Field::new(name, Kind::Int(2));
        feature.numbers(&[version("minSupportedVersion"), version("maxSupportedVersion"), TAG_BUFFER]);
    });
    scribe.number(TAG_BUFFER);
}

/// A compact array: its count and one more, then its elements.
fn write_array<'a>(scribe: &mut Scribe<'a>, name: &'static str, write: impl Fn(&mut Scribe<'a>)) {
    scribe.group(name, |inner| {
        let Some(count) = inner.number(COUNT) else { return };
        inner.note("one more than there are");
        let mut index = 0;
        while index < count - 1 && inner.goes_on() {
            inner.group(format!("{name}[{index}]"), &write);
            index += 1;
        }
    });
}

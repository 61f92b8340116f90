//! The keys and values of control records (CTL-2 to CTL-8; the message schemas of Kafka's clients).

use super::field_writer::FieldWriter;
use super::meaning;
use crate::model::ControlType;
use crate::wire::{WireField, WireKind};

const VERSION: WireField = WireField::new("version", WireKind::Int(2));
/// An unsigned count, one more than there are, as in all compact arrays and strings.
const COUNT: WireField = WireField::new("count", WireKind::UnsignedVarint);
const TAG_BUFFER: WireField = WireField::new("tagBuffer", WireKind::UnsignedVarint);

/// The key: which kind of marker it is.
pub(super) fn write_key(writer: &mut FieldWriter<'_>) {
    writer.number(VERSION);
    if let Some(id) = writer.number(WireField::new("type", WireKind::Int(2))) {
        writer.note(ControlType::from_id(i16::try_from(id).unwrap_or(-1)).name());
    }
}

/// The value, as the key says what it is.
pub(super) fn write_value(writer: &mut FieldWriter<'_>, key: Option<&[u8]>) {
    let Ok(kind) = ControlType::parse(key) else { return };
    match kind {
        ControlType::Unknown(_) => return,
        ControlType::Abort | ControlType::Commit => {
            writer.numbers(&[VERSION, WireField::new("coordinatorEpoch", WireKind::Int(4))]);
            return;
        }
        ControlType::LeaderChange => {
            let version = writer.number(VERSION).unwrap_or(0);
            writer.number(WireField::new("leaderId", WireKind::Int(4)));
            for name in ["voters", "grantingVoters"] {
                write_array(writer, name, |voter| write_voter(voter, version > 0));
            }
        }
        ControlType::SnapshotHeader => {
            writer.number(VERSION);
            if let Some(time) = writer.number(WireField::new("lastContainedLogTimestamp", WireKind::Int(8))) {
                writer.note(meaning::time(time));
            }
        }
        ControlType::SnapshotFooter => {
            writer.number(VERSION);
        }
        ControlType::KraftVersion => {
            writer.numbers(&[VERSION, WireField::new("kRaftVersion", WireKind::Int(2))]);
        }
        ControlType::KraftVoters => {
            writer.number(VERSION);
            write_array(writer, "voters", write_endpoints);
        }
    }
    writer.number(TAG_BUFFER);
}

fn write_voter(writer: &mut FieldWriter<'_>, has_directory: bool) {
    writer.number(WireField::new("voterId", WireKind::Int(4)));
    if has_directory {
        writer.data("voterDirectoryId", 16);
    }
    writer.number(TAG_BUFFER);
}

fn write_endpoints(writer: &mut FieldWriter<'_>) {
    writer.number(WireField::new("voterId", WireKind::Int(4)));
    writer.data("voterDirectoryId", 16);
    write_array(writer, "endpoints", |endpoint| {
        for name in ["name", "host"] {
            if let Some(len) = endpoint.number(WireField::new("length", WireKind::UnsignedVarint)) {
                endpoint.data(name, len - 1);
            }
        }
        endpoint.numbers(&[WireField::new("port", WireKind::Unsigned(2)), TAG_BUFFER]);
    });
    writer.group("kRaftVersionFeature", |feature| {
        let version = |name| WireField::new(name, WireKind::Int(2));
        feature.numbers(&[version("minSupportedVersion"), version("maxSupportedVersion"), TAG_BUFFER]);
    });
    writer.number(TAG_BUFFER);
}

/// A compact array: its count and one more, then its elements.
fn write_array<'a>(writer: &mut FieldWriter<'a>, name: &'static str, write: impl Fn(&mut FieldWriter<'a>)) {
    writer.group(name, |inner| {
        let Some(count) = inner.number(COUNT) else { return };
        inner.note("one more than there are");
        let mut index = 0;
        while index < count - 1 && inner.goes_on() {
            inner.group(format!("{name}[{index}]"), &write);
            index += 1;
        }
    });
}

//! What the values of fields mean, in a few words.

use crate::codec::Plugins;
use crate::error::escaped;
use crate::model::{Attributes, BatchHeader, CompressionType, RecordFormat, TimestampType};

/// A time as people read it: `2020-09-13T12:26:40.000Z`; a word for -1 and for times that no calendar holds.
pub(super) fn time(ms: i128) -> String {
    const DAY: i128 = 86_400_000;
    if ms == -1 {
        return "none".to_owned();
    }
    let (days, rest) = (ms.div_euclid(DAY), ms.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    if !(0..=9999).contains(&year) {
        return "no time between the years 0 and 9999".to_owned();
    }
    let (hour, minute, second, milli) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Year, month and day of a day since 1970-01-01 in the Gregorian calendar, counted in years that begin in March.
fn civil(days: i128) -> (i128, i128, i128) {
    const ERA: i128 = 146_097;
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i128::from(month <= 2), month, day)
}

/// A header with format and attributes only, for the meaning of the bits.
pub(super) fn header(bits: i128, format: RecordFormat) -> BatchHeader {
    BatchHeader { attributes: Attributes(i16::try_from(bits).unwrap_or(0)), ..BatchHeader::new(format) }
}

/// The bits of the attributes.
pub(super) fn attributes(header: &BatchHeader, plugins: &Plugins) -> String {
    let codec = match header.compression() {
        CompressionType::None => "not compressed".to_owned(),
        CompressionType::Unknown(id) => format!("unknown codec {id}"),
        CompressionType::Plugin(id) => {
            let unknown = CompressionType::Plugin(id).name();
            plugins.with_name(CompressionType::Plugin(id), |name| {
                if name == unknown { name.to_owned() } else { format!("{} ({unknown})", escaped(name)) }
            })
        }
        known => known.name().to_owned(),
    };
    let unused = header.unused_bits();
    let words = [
        Some(codec),
        (header.timestamp_type() != TimestampType::NoTimestampType).then(|| header.timestamp_type().name().to_owned()),
        header.is_transactional().then(|| "transactional".to_owned()),
        header.is_control().then(|| "control".to_owned()),
        header.delete_horizon_ms().map(|_| "delete horizon in baseTimestamp".to_owned()),
        header.is_metadata_first().then(|| "metadata first".to_owned()),
        (header.format == RecordFormat::V3 && !header.has_record_attributes()).then(|| "no attributes of records".to_owned()),
        (unused != 0).then(|| format!("unused bits {unused:#x}")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A stored checksum held against the computed one.
pub(super) fn checksum(name: &str, stored: i128, computed: u32) -> String {
    if stored == i128::from(computed) {
        format!("{name}: matches")
    } else {
        format!("{name}: does not match, stored {stored:#010x}, computed {computed:#010x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_600_000_000_123, "2020-09-13T12:26:40.123Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (-86_400_001, "1969-12-30T23:59:59.999Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (-1, "none"),
        ] {
            assert_eq!(time(ms), text);
        }
        for ms in [i64::MAX, i64::MIN, 253_402_300_800_000] {
            assert!(time(ms.into()).starts_with("no time"), "{ms}");
        }
    }

    #[test]
    fn s_p5_stray_bits_are_no_plugin() {
        let attributes_text = |bits, format| attributes(&header(bits, format), &Plugins::default());
        assert_eq!(attributes_text(0x0305, RecordFormat::V2), "plugin:3, CreateTime");
        assert_eq!(attributes_text(0x0303, RecordFormat::V2), "lz4, CreateTime, unused bits 0x300");
        assert_eq!(attributes_text(0x38, RecordFormat::V2), "not compressed, LogAppendTime, transactional, control");
        assert_eq!(attributes_text(0x1a, RecordFormat::V1), "snappy, LogAppendTime, unused bits 0x10");
        assert_eq!(attributes_text(0x02, RecordFormat::V07), "snappy");
        assert_eq!(attributes_text(0x1080, RecordFormat::V3), "not compressed, CreateTime, metadata first, no attributes of records");
        assert_eq!(attributes_text(0x1080, RecordFormat::V2), "not compressed, CreateTime, unused bits 0x1080");
    }
}

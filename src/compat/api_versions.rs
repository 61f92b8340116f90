//! What the versions of Produce and Fetch may carry (VAL-1, CNV-13, COD-Z7).

use super::KafkaError;
use super::error_codes::{INVALID_RECORD, UNSUPPORTED_COMPRESSION_TYPE, UNSUPPORTED_VERSION};
use super::releases::Release;
use crate::model::{CompressionType, RecordFormat};

/// A request that carries records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// From a producer.
    Produce,
    /// To a consumer.
    Fetch,
}

/// Versions of a request that carry the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiVersions {
    /// First version of the row.
    pub first: i16,
    /// Last version of the row; `None` for all that follow.
    pub last: Option<i16>,
    /// The first release of Kafka that has them.
    pub since: &'static str,
    /// The last release of a broker that serves them; `None` for today's.
    pub until: Option<&'static str>,
    /// The newest format in them.
    pub format: RecordFormat,
    /// zstd is allowed.
    pub has_zstd: bool,
    /// The first release of brokers that no longer refuse zstd in them; `None` if all do, or none.
    pub zstd_since: Option<&'static str>,
    /// What a reader of the table should know.
    pub note: &'static str,
}

/// What becomes of records in a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Kafka's error, when they are refused.
    pub error: Option<KafkaError>,
    /// The format that a broker up to 3.9 converts them to, when it does.
    pub converted: Option<RecordFormat>,
    /// What to do about it; empty when nothing is to be done.
    pub advice: String,
}

/// Fetch and Produce versions 0 and 1 end with the brokers of 3.9 (KIP-896).
const LAST_OLD_BROKER: Option<&str> = Some("3.9");
/// Brokers from 4.0 on send what is stored, whatever the version (`KafkaApis` has no such check any more).
const LATER_ZSTD: Option<&str> = Some("4.0");
/// Clients that take and send zstd.
const ZSTD_CLIENTS: &str = "Java clients from 2.1 on, librdkafka from 1.0 on";

/// Produce, by version.
pub const PRODUCE: [ApiVersions; 4] = [
    row(0, Some(1), "0.8.0", LAST_OLD_BROKER, RecordFormat::V0, false, "magic 0; not enforced by brokers up to 3.9"),
    row(2, Some(2), "0.10.0", LAST_OLD_BROKER, RecordFormat::V1, false, "magic 1; not enforced by brokers up to 3.9"),
    row(3, Some(6), "0.11.0", None, RecordFormat::V2, false, "exactly one batch of magic 2"),
    row(7, None, "2.1", None, RecordFormat::V2, true, "exactly one batch of magic 2"),
];

/// Fetch, by version.
pub const FETCH: [ApiVersions; 4] = [
    row(0, Some(1), "0.8.0", LAST_OLD_BROKER, RecordFormat::V0, false, "newer formats are converted down to magic 0"),
    row(2, Some(3), "0.10.0", LAST_OLD_BROKER, RecordFormat::V1, false, "newer formats are converted down to magic 1"),
    ApiVersions { zstd_since: LATER_ZSTD, ..row(4, Some(9), "0.11.0", None, RecordFormat::V2, false, "as stored") },
    row(10, None, "2.1", None, RecordFormat::V2, true, "as stored"),
];

const fn row(
    first: i16,
    last: Option<i16>,
    since: &'static str,
    until: Option<&'static str>,
    format: RecordFormat,
    has_zstd: bool,
    note: &'static str,
) -> ApiVersions {
    ApiVersions { first, last, since, until, format, has_zstd, zstd_since: None, note }
}

impl Api {
    fn name(self) -> &'static str {
        match self {
            Self::Produce => "Produce",
            Self::Fetch => "Fetch",
        }
    }

    /// The table of this request.
    pub fn versions(self) -> &'static [ApiVersions] {
        match self {
            Self::Produce => &PRODUCE,
            Self::Fetch => &FETCH,
        }
    }

    /// The row of a version; `None` below 0.
    pub fn row(self, version: i16) -> Option<&'static ApiVersions> {
        self.versions().iter().find(|row| (row.first..=row.last.unwrap_or(i16::MAX)).contains(&version))
    }
}

impl ApiVersions {
    /// True if brokers of a release have these versions; without a release, if any brokers have.
    fn is_served_by(&self, release: Option<Release>) -> bool {
        release.is_none_or(|release| release.is_from(self.since) && self.until.is_none_or(|until| release.is_up_to(until)))
    }

    /// True if zstd is allowed by brokers of a release; without a release, by those up to 3.9.
    pub fn takes_zstd(&self, release: Option<Release>) -> bool {
        self.has_zstd || release.zip(self.zstd_since).is_some_and(|(release, since)| release.is_from(since))
    }
}

impl Verdict {
    fn good() -> Self {
        Self { error: None, converted: None, advice: String::new() }
    }

    fn refused(error: KafkaError, advice: impl Into<String>) -> Self {
        Self { error: Some(error), converted: None, advice: advice.into() }
    }
}

/// Why a request of this version is not served by brokers of a release; `None` if it is.
pub fn unserved(api: Api, version: i16, release: Option<Release>) -> Option<Verdict> {
    let (row, release) = (api.row(version)?, release?);
    if row.is_served_by(Some(release)) {
        return None;
    }
    let name = api.name();
    let advice = match row.until {
        Some(until) if !release.is_up_to(until) => {
            format!("brokers up to {until} serve {name} version {version}, this is {release}: upgrade the client")
        }
        _ => format!("brokers from {} on serve {name} version {version}, this is {release}", row.since),
    };
    Some(Verdict::refused(UNSUPPORTED_VERSION, advice))
}

/// What brokers of a release do with records of this format and codec in a request of this version; `None` below version 0.
///
/// Without a release, the answer is that of brokers up to 3.9.
pub fn verdict(api: Api, version: i16, release: Option<Release>, format: RecordFormat, compression: CompressionType) -> Option<Verdict> {
    let row = api.row(version)?;
    if format == RecordFormat::V07 {
        return Some(Verdict::refused(
            UNSUPPORTED_VERSION,
            "Kafka 0.7 had another protocol: convert its messages to v2 (`logsegment convert`)",
        ));
    }
    if matches!(compression, CompressionType::Unknown(_) | CompressionType::Plugin(_)) {
        let advice = format!("no released Kafka knows compression type {}", compression.id());
        return Some(Verdict::refused(super::error_codes::UNKNOWN_SERVER_ERROR, advice));
    }
    if compression == CompressionType::Zstd && format < RecordFormat::V2 {
        return Some(Verdict::refused(INVALID_RECORD, "zstd exists in magic 2 only: write v2, or choose gzip, snappy or lz4"));
    }
    if let Some(verdict) = unserved(api, version, release) {
        return Some(verdict);
    }
    let is_zstd_refused = compression == CompressionType::Zstd && !row.takes_zstd(release);
    Some(match api {
        Api::Produce => produced(row, version, format, is_zstd_refused),
        Api::Fetch => fetched(row, version, format, is_zstd_refused),
    })
}

fn produced(row: &ApiVersions, version: i16, format: RecordFormat, is_zstd_refused: bool) -> Verdict {
    if is_zstd_refused {
        return Verdict::refused(UNSUPPORTED_COMPRESSION_TYPE, too_old("Produce", version, 7, "producer"));
    }
    if row.format == RecordFormat::V2 && format < RecordFormat::V2 {
        let name = format.name();
        return Verdict::refused(
            INVALID_RECORD,
            format!(
                "Produce from version 3 on carries magic 2 only, not {name}: convert to v2, or send version {} to a broker up to 3.9",
                format.magic().max(1)
            ),
        );
    }
    if format > row.format {
        let advice =
            format!("Produce {version} is meant for {}; brokers up to 3.9 take it, newer ones serve from version 3 on", row.format.name());
        return Verdict { advice, ..Verdict::good() };
    }
    Verdict::good()
}

fn fetched(row: &ApiVersions, version: i16, format: RecordFormat, is_zstd_refused: bool) -> Verdict {
    if is_zstd_refused {
        return Verdict::refused(UNSUPPORTED_COMPRESSION_TYPE, too_old("Fetch", version, 10, "consumer"));
    }
    if format > row.format {
        let to = row.format.name();
        let advice = format!(
            "brokers up to 3.9 convert {} down to {to} for Fetch {version}, later ones do not serve it: upgrade the consumer",
            format.name()
        );
        return Verdict { error: None, converted: Some(row.format), advice };
    }
    Verdict::good()
}

/// The advice of KIP-110, with both numbers that the error was given.
fn too_old(api: &str, version: i16, needed: i16, who: &str) -> String {
    format!(
        "zstd needs {api} version {needed} or newer, this is {version}: upgrade the {who} ({ZSTD_CLIENTS}), or set compression.type of \
         the topic or producer to gzip, snappy or lz4 (error {}; the text of KIP-110 says 74, which is another error since 2.1)",
        UNSUPPORTED_COMPRESSION_TYPE.code
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use CompressionType::{Lz4, None as Plain, Zstd};
    use RecordFormat::{V0, V1, V2, V07};

    fn code(api: Api, version: i16, format: RecordFormat, compression: CompressionType) -> Option<i16> {
        verdict(api, version, None, format, compression).unwrap().error.map(|error| error.code)
    }

    #[test]
    fn rows_follow_each_other_without_a_gap() {
        for api in [Api::Produce, Api::Fetch] {
            let rows = api.versions();
            assert_eq!((rows[0].first, rows[rows.len() - 1].last), (0, None));
            assert!(rows.windows(2).all(|pair| pair[0].last == Some(pair[1].first - 1)));
            assert_eq!(api.row(-1), None);
        }
    }

    #[test]
    fn cod_z7_zstd_needs_produce_7_and_fetch_10() {
        assert_eq!([6, 7].map(|version| code(Api::Produce, version, V2, Zstd)), [Some(76), None]);
        assert_eq!([9, 10].map(|version| code(Api::Fetch, version, V2, Zstd)), [Some(76), None]);
        assert_eq!(code(Api::Produce, 2, V1, Zstd), Some(87));
        let advice = verdict(Api::Fetch, 3, None, V2, Zstd).unwrap().advice;
        assert!(advice.contains("upgrade the consumer") && advice.contains("74"), "{advice}");
    }

    #[test]
    fn brokers_of_4_send_zstd_in_every_version_that_they_serve() {
        let code = |api, version, release| {
            let release = Release::parse(release);
            verdict(api, version, release, V2, Zstd).unwrap().error.map(|error| error.code)
        };
        assert_eq!([4, 9, 10].map(|version| code(Api::Fetch, version, "4.0")), [None; 3]);
        assert_eq!([4, 9, 10].map(|version| code(Api::Fetch, version, "3.9.1")), [Some(76), Some(76), None]);
        assert_eq!([0, 3].map(|version| code(Api::Fetch, version, "4.3.1")), [Some(35); 2]);
        assert_eq!(code(Api::Fetch, 10, "2.0"), Some(35));
        // A producer is refused as before.
        assert_eq!([2, 6, 7].map(|version| code(Api::Produce, version, "4.0")), [Some(35), Some(76), None]);
    }

    #[test]
    fn val_1_produce_3_takes_magic_2_only() {
        assert_eq!([V0, V1, V2].map(|format| code(Api::Produce, 3, format, Lz4)), [Some(87), Some(87), None]);
        assert_eq!([V0, V1].map(|format| code(Api::Produce, 2, format, Lz4)), [None, None]);
        assert_eq!(code(Api::Produce, 9, V07, Plain), Some(35));
    }

    #[test]
    fn cnv_13_old_fetches_are_converted_down() {
        let converted = |version, format| verdict(Api::Fetch, version, None, format, Plain).unwrap().converted;
        assert_eq!([0, 1, 2, 3, 4].map(|version| converted(version, V2)), [Some(V0), Some(V0), Some(V1), Some(V1), None]);
        assert_eq!(converted(1, V1), Some(V0));
        assert_eq!(converted(3, V1), None);
    }
}

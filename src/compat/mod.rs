//! Tables of the protocol: which record formats and codecs a request version or a client release may carry, and Kafka's error codes.
//!
//! Sources: FORMAT sections 7.1, 8, 9 and 12; KIP-57, KIP-110, KIP-896; `ProduceRequest.json`, `FetchRequest.json` and `Errors` of Kafka's clients.

pub mod api_versions;
pub mod error_codes;
pub mod releases;

pub use api_versions::{Api, ApiVersions, Verdict, unserved, verdict};
pub use error_codes::KafkaError;
pub use releases::{CLIENTS, Client, Release};

//! Ids and numbers of Kafka's enums as the text that its tools show.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::internal_topics::replay::Uuid;

/// A UUID as Kafka shows it: 22 letters of URL-safe base64.
pub fn uuid(id: &Uuid) -> String {
    URL_SAFE_NO_PAD.encode(id)
}

/// The kind of a resource of configurations (`ConfigResource.Type`).
pub fn config_resource(kind: i32) -> String {
    let name = match kind {
        2 => "TOPIC",
        4 => "BROKER",
        8 => "BROKER_LOGGER",
        16 => "CLIENT_METRICS",
        32 => "GROUP",
        _ => return kind.to_string(),
    };
    name.to_owned()
}

/// Where a configuration comes from (`DescribeConfigsResponse.ConfigSource`).
pub fn config_source(kind: i32, resource: &str) -> &'static str {
    match kind {
        2 => "DYNAMIC_TOPIC_CONFIG",
        4 if resource.is_empty() => "DYNAMIC_DEFAULT_BROKER_CONFIG",
        4 => "DYNAMIC_BROKER_CONFIG",
        8 => "DYNAMIC_BROKER_LOGGER_CONFIG",
        16 => "DYNAMIC_CLIENT_METRICS_CONFIG",
        32 => "DYNAMIC_GROUP_CONFIG",
        _ => "UNKNOWN",
    }
}

/// The kind of a resource of ACLs (`ResourceType`).
pub fn resource(kind: i32) -> String {
    named(kind, &["UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"])
}

/// How the name of a resource is compared (`PatternType`).
pub fn pattern(kind: i32) -> String {
    named(kind, &["UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED"])
}

/// An operation of ACLs (`AclOperation`).
pub fn operation(kind: i32) -> String {
    named(
        kind,
        &[
            "UNKNOWN",
            "ANY",
            "ALL",
            "READ",
            "WRITE",
            "CREATE",
            "DELETE",
            "ALTER",
            "DESCRIBE",
            "CLUSTER_ACTION",
            "DESCRIBE_CONFIGS",
            "ALTER_CONFIGS",
            "IDEMPOTENT_WRITE",
            "CREATE_TOKENS",
            "DESCRIBE_TOKENS",
            "TWO_PHASE_COMMIT",
        ],
    )
}

/// What an ACL does (`AclPermissionType`).
pub fn permission(kind: i32) -> String {
    named(kind, &["UNKNOWN", "ANY", "DENY", "ALLOW"])
}

/// A mechanism of SCRAM (`ScramMechanism`).
pub fn mechanism(kind: i32) -> String {
    named(kind, &["UNKNOWN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
}

fn named(number: i32, names: &[&str]) -> String {
    let name = usize::try_from(number).ok().and_then(|at| names.get(at));
    name.map_or_else(|| number.to_string(), |name| (*name).to_owned())
}

use crate::cluster::table::ColumnKind::{Float, Int, Text};
use crate::cluster::table::{ColumnKind, Table};
use crate::cluster::{Cluster, harmless, text};

const CONFIGS: &[(&str, ColumnKind)] = &[("resourceType", Text), ("resourceName", Text), ("name", Text), ("value", Text), ("source", Text)];
const ACLS: &[(&str, ColumnKind)] = &[
    ("resourceType", Text),
    ("resourceName", Text),
    ("patternType", Text),
    ("principal", Text),
    ("host", Text),
    ("operation", Text),
    ("permission", Text),
];
const QUOTAS: &[(&str, ColumnKind)] = &[("user", Text), ("clientId", Text), ("ip", Text), ("name", Text), ("value", Float)];
const SCRAM: &[(&str, ColumnKind)] = &[("user", Text), ("mechanism", Text), ("iterations", Int)];
/// The default entity of its kind.
const DEFAULT: &str = "<default>";

/// A row for each configuration that was set.
pub(super) fn configs(cluster: &Cluster) -> Table {
    let mut table = Table::new(CONFIGS);
    for ((kind, resource, name), value) in cluster.metadata.iter().flat_map(|metadata| &metadata.configs) {
        table.push([
            text::config_resource(*kind).into(),
            resource.as_str().into(),
            name.as_str().into(),
            harmless::shown(*kind, name, value).into(),
            text::config_source(*kind, resource).into(),
        ]);
    }
    table
}

/// A row for each rule.
pub(super) fn acls(cluster: &Cluster) -> Table {
    let mut table = Table::new(ACLS);
    let mut acls: Vec<_> = cluster.metadata.iter().flat_map(|metadata| metadata.acls.values()).collect();
    acls.sort_by_key(|acl| {
        (acl.resource_type, &acl.resource_name, acl.pattern_type, &acl.principal, acl.permission, acl.operation, &acl.host)
    });
    for acl in acls {
        table.push([
            text::resource(acl.resource_type).into(),
            acl.resource_name.as_str().into(),
            text::pattern(acl.pattern_type).into(),
            acl.principal.as_str().into(),
            acl.host.as_str().into(),
            text::operation(acl.operation).into(),
            text::permission(acl.permission).into(),
        ]);
    }
    table
}

/// A row for each quota.
pub(super) fn quotas(cluster: &Cluster) -> Table {
    let mut table = Table::new(QUOTAS);
    for ((entity, name), value) in cluster.metadata.iter().flat_map(|metadata| &metadata.quotas) {
        let of = |kind: &str| {
            let own = entity.iter().find(|(own, _)| own == kind);
            own.map(|(_, name)| name.clone().unwrap_or_else(|| DEFAULT.to_owned()))
        };
        table.push([of("user").into(), of("client-id").into(), of("ip").into(), name.as_str().into(), (*value).into()]);
    }
    table
}

/// A row for each credential, without its secrets.
pub(super) fn scram(cluster: &Cluster) -> Table {
    let mut table = Table::new(SCRAM);
    for ((user, mechanism), iterations) in cluster.metadata.iter().flat_map(|metadata| &metadata.scram) {
        table.push([user.as_str().into(), text::mechanism(*mechanism).into(), (*iterations).into()]);
    }
    table
}

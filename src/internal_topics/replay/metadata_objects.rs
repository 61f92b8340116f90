//! What the metadata of a cluster consists of, by the names of its records. Source: the classes of `org.apache.kafka.metadata` and `image`.

use std::collections::BTreeMap;

use crate::internal_topics::MessageValue;

/// The id of a topic, a directory, an incarnation or an ACL.
pub type Uuid = [u8; 16];

/// The kinds and names of what a quota is about, in order; `None` is the default of its kind.
pub type QuotaEntity = Vec<(String, Option<String>)>;

/// A topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicState {
    /// Its name.
    pub name: String,
    /// By number.
    pub partitions: BTreeMap<i32, PartitionState>,
}

/// A partition (`PartitionRegistration`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionState {
    /// Ids of the brokers with a replica.
    pub replicas: Vec<i32>,
    /// In sync with the leader.
    pub isr: Vec<i32>,
    /// Eligible to lead without being in sync (KIP-966).
    pub elr: Vec<i32>,
    /// The last known of these.
    pub last_known_elr: Vec<i32>,
    /// Replicas that a reassignment adds.
    pub adding: Vec<i32>,
    /// Replicas that a reassignment removes.
    pub removing: Vec<i32>,
    /// The log directory of each replica.
    pub directories: Vec<Uuid>,
    /// Id of the leader; -1 without one.
    pub leader: i32,
    /// Number of changes of the leader.
    pub leader_epoch: i32,
    /// Number of changes of the partition.
    pub partition_epoch: i32,
}

/// An address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// Of the listener.
    pub name: String,
    /// Host.
    pub host: String,
    /// Port.
    pub port: i32,
}

/// A broker that is registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Broker {
    /// Epoch of its registration.
    pub epoch: i64,
    /// Of its process.
    pub incarnation: Uuid,
    /// Its addresses.
    pub endpoints: Vec<Endpoint>,
    /// Its rack.
    pub rack: Option<String>,
    /// It takes part in nothing.
    pub is_fenced: bool,
    /// It is stopping.
    pub is_in_controlled_shutdown: bool,
    /// Its log directories.
    pub log_dirs: Vec<Uuid>,
}

/// A controller that is registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Controller {
    /// Of its process.
    pub incarnation: Uuid,
    /// Its addresses.
    pub endpoints: Vec<Endpoint>,
}

/// A rule of access. Numbers are those of Kafka's enums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acl {
    /// `ResourceType`.
    pub resource_type: i32,
    /// Name of the resource.
    pub resource_name: String,
    /// `PatternType`.
    pub pattern_type: i32,
    /// Such as `User:alice`.
    pub principal: String,
    /// Host, or `*`.
    pub host: String,
    /// `AclOperation`.
    pub operation: i32,
    /// `AclPermissionType`.
    pub permission: i32,
}

impl PartitionState {
    /// The partition of a `PartitionRecord`.
    pub(super) fn of(fields: &MessageValue) -> Self {
        let ints = |name| fields.ints(name).unwrap_or_default();
        Self {
            replicas: ints("replicas"),
            isr: ints("isr"),
            elr: ints("eligibleLeaderReplicas"),
            last_known_elr: ints("lastKnownElr"),
            adding: ints("addingReplicas"),
            removing: ints("removingReplicas"),
            directories: fields.uuids("directories").unwrap_or_default(),
            leader: fields.int("leader").unwrap_or(-1),
            leader_epoch: fields.int("leaderEpoch").unwrap_or(-1),
            partition_epoch: fields.int("partitionEpoch").unwrap_or(-1),
        }
    }

    /// Applies a `PartitionChangeRecord` (`PartitionRegistration.merge`).
    pub(super) fn change(&mut self, fields: &MessageValue) {
        let replace = |own: &mut Vec<i32>, name| {
            if let Some(new) = fields.ints(name) {
                *own = new;
            }
        };
        replace(&mut self.replicas, "replicas");
        replace(&mut self.isr, "isr");
        replace(&mut self.elr, "eligibleLeaderReplicas");
        replace(&mut self.last_known_elr, "lastKnownElr");
        replace(&mut self.adding, "addingReplicas");
        replace(&mut self.removing, "removingReplicas");
        if let Some(directories) = fields.uuids("directories") {
            self.directories = directories;
        }
        if let Some(leader) = fields.int("leader") {
            self.leader = leader;
            self.leader_epoch = self.leader_epoch.saturating_add(1);
        }
        self.partition_epoch = self.partition_epoch.saturating_add(1);
    }
}

impl Broker {
    /// The broker of a `RegisterBrokerRecord`.
    pub(super) fn of(fields: &MessageValue) -> Self {
        Self {
            epoch: fields.long("brokerEpoch").unwrap_or(-1),
            incarnation: fields.uuid("incarnationId").unwrap_or_default(),
            endpoints: endpoints(fields),
            rack: fields.text("rack").map(str::to_owned),
            is_fenced: fields.is_true("fenced"),
            is_in_controlled_shutdown: fields.is_true("inControlledShutdown"),
            log_dirs: fields.uuids("logDirs").unwrap_or_default(),
        }
    }

    /// Applies a `BrokerRegistrationChangeRecord`.
    pub(super) fn change(&mut self, fields: &MessageValue) {
        match fields.int("fenced").unwrap_or(0) {
            0 => {}
            fenced => self.is_fenced = fenced > 0,
        }
        self.is_in_controlled_shutdown |= fields.int("inControlledShutdown").unwrap_or(0) > 0;
        if let Some(directories) = fields.uuids("logDirs").filter(|directories| !directories.is_empty()) {
            self.log_dirs = directories;
        }
    }
}

impl Controller {
    /// The controller of a `RegisterControllerRecord`.
    pub(super) fn of(fields: &MessageValue) -> Self {
        Self { incarnation: fields.uuid("incarnationId").unwrap_or_default(), endpoints: endpoints(fields) }
    }
}

impl Acl {
    /// The rule of an `AccessControlEntryRecord`.
    pub(super) fn of(fields: &MessageValue) -> Self {
        let (number, text) = (|name| fields.int(name).unwrap_or(0), |name| fields.text(name).unwrap_or_default().to_owned());
        Self {
            resource_type: number("resourceType"),
            resource_name: text("resourceName"),
            pattern_type: number("patternType"),
            principal: text("principal"),
            host: text("host"),
            operation: number("operation"),
            permission: number("permissionType"),
        }
    }
}

fn endpoints(fields: &MessageValue) -> Vec<Endpoint> {
    let endpoint = |fields: &MessageValue| {
        let text = |name| fields.text(name).unwrap_or_default().to_owned();
        Endpoint { name: text("name"), host: text("host"), port: fields.int("port").unwrap_or(0) }
    };
    fields.list("endPoints").unwrap_or_default().iter().map(endpoint).collect()
}

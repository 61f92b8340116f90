//! The metadata of a KRaft cluster, from the records of a snapshot and of the log after it.
//!
//! Records of a metadata transaction count when its end comes (KIP-868). Sources: the `replay` methods of `org.apache.kafka.image`.

use std::collections::BTreeMap;

use super::metadata_objects::{Acl, Broker, Controller, PartitionState, QuotaEntity, TopicState, Uuid};
use crate::internal_topics::{MessageValue, Topic, Undecoded, identify};

/// The kind of a topic among the resources of configurations.
const TOPIC: i32 = 2;

/// The metadata at an offset of the metadata log.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// By id.
    pub topics: BTreeMap<Uuid, TopicState>,
    /// Topics that were deleted by records that were replayed.
    pub deleted: BTreeMap<Uuid, TopicState>,
    /// By id.
    pub brokers: BTreeMap<i32, Broker>,
    /// By id.
    pub controllers: BTreeMap<i32, Controller>,
    /// By the number of the kind of a resource, its name, and the name of the property.
    pub configs: BTreeMap<(i32, String, String), String>,
    /// By id.
    pub acls: BTreeMap<Uuid, Acl>,
    /// By entity and name.
    pub quotas: BTreeMap<(QuotaEntity, String), f64>,
    /// The iterations of credentials, by user and number of the mechanism. Salts and keys are not kept.
    pub scram: BTreeMap<(String, i32), i32>,
    /// The levels of features.
    pub features: BTreeMap<String, i32>,
    /// The first producer id that no broker has got.
    pub next_producer_id: Option<i64>,
    /// Records that change what no record has created.
    pub orphans: u64,
    /// The values of records of the transaction that is open, with their offsets.
    open: Option<Vec<(i64, Vec<u8>)>>,
    /// Why records of an ended transaction cannot be read.
    pending: Vec<(i64, Undecoded)>,
}

impl Metadata {
    /// Adds a record, in the order of the offsets. Returns the offset of each record that cannot be read, and why: this one, or one of the
    /// transaction that ends with it.
    pub fn add(&mut self, offset: i64, is_control: bool, key: Option<&[u8]>, value: Option<&[u8]>) -> Vec<(i64, Undecoded)> {
        if let Err(undecoded) = self.replay(offset, is_control, key, value) {
            self.pending.push((offset, undecoded));
        }
        std::mem::take(&mut self.pending)
    }

    /// The number of records of a transaction that is open: they do not count.
    pub fn open_records(&self) -> Option<usize> {
        self.open.as_ref().map(Vec::len)
    }

    /// Forgets the open transaction: bytes are missing that may have held its end.
    pub fn interrupt(&mut self) {
        self.open = None;
    }

    fn replay(&mut self, offset: i64, is_control: bool, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<(), Undecoded> {
        let Some(record) = identify(Some(Topic::ClusterMetadata), is_control, key, value) else { return Ok(()) };
        if let Some(undecoded) = record.undecoded {
            return Err(undecoded);
        }
        let name = record.name.unwrap_or_default();
        if is_control {
            if name == "KRAFT_VERSION" {
                let fields = MessageValue::of(&record, &record.value)?;
                self.features.insert("kraft.version".to_owned(), fields.int("kRaftVersion").unwrap_or(0));
            }
            return Ok(());
        }
        match name {
            "BEGIN_TRANSACTION_RECORD" => self.open = Some(Vec::new()),
            "ABORT_TRANSACTION_RECORD" => self.open = None,
            "END_TRANSACTION_RECORD" => {
                for (offset, value) in self.open.take().unwrap_or_default() {
                    if let Err(undecoded) = self.replay(offset, false, None, Some(&value)) {
                        self.pending.push((offset, undecoded));
                    }
                }
            }
            _ => match &mut self.open {
                Some(open) => open.push((offset, value.unwrap_or_default().to_vec())),
                None => self.apply(name, &MessageValue::of(&record, &record.value)?),
            },
        }
        Ok(())
    }

    fn apply(&mut self, name: &str, fields: &MessageValue) {
        match name {
            "TOPIC_RECORD" | "PARTITION_RECORD" | "PARTITION_CHANGE_RECORD" | "REMOVE_TOPIC_RECORD" | "CLEAR_ELR_RECORD" => {
                self.apply_to_topics(name, fields);
            }
            "CONFIG_RECORD" => self.configure(fields),
            "ACCESS_CONTROL_ENTRY_RECORD" => {
                self.acls.insert(fields.uuid("id").unwrap_or_default(), Acl::of(fields));
            }
            "REMOVE_ACCESS_CONTROL_ENTRY_RECORD" => {
                self.acls.remove(&fields.uuid("id").unwrap_or_default());
            }
            "CLIENT_QUOTA_RECORD" => self.set_quota(fields),
            "USER_SCRAM_CREDENTIAL_RECORD" => {
                self.scram.insert(credential(fields), fields.int("iterations").unwrap_or(0));
            }
            "REMOVE_USER_SCRAM_CREDENTIAL_RECORD" => {
                self.scram.remove(&credential(fields));
            }
            "FEATURE_LEVEL_RECORD" => self.set_feature(fields),
            "PRODUCER_IDS_RECORD" => self.next_producer_id = fields.long("nextProducerId"),
            _ => self.apply_to_nodes(name, fields),
        }
    }

    fn apply_to_topics(&mut self, name: &str, fields: &MessageValue) {
        let id = fields.uuid("topicId").unwrap_or_default();
        match name {
            "TOPIC_RECORD" => {
                let name = fields.text("name").unwrap_or_default().to_owned();
                self.topics.insert(id, TopicState { name, partitions: BTreeMap::new() });
            }
            "REMOVE_TOPIC_RECORD" => {
                let Some(topic) = self.topics.remove(&id) else {
                    self.orphans += 1;
                    return;
                };
                self.configs.retain(|(kind, name, _), _| *kind != TOPIC || *name != topic.name);
                self.deleted.insert(id, topic);
            }
            "CLEAR_ELR_RECORD" => {
                let wanted = fields.text("topicName").unwrap_or_default();
                let named = self.topics.values_mut().filter(|topic| wanted.is_empty() || topic.name == wanted);
                for partition in named.flat_map(|topic| topic.partitions.values_mut()) {
                    partition.elr.clear();
                    partition.last_known_elr.clear();
                }
            }
            _ => {
                let number = fields.int("partitionId").unwrap_or(-1);
                let topic = self.topics.get_mut(&id);
                match (name, topic) {
                    ("PARTITION_RECORD", Some(topic)) => {
                        topic.partitions.insert(number, PartitionState::of(fields));
                    }
                    (_, Some(topic)) => match topic.partitions.get_mut(&number) {
                        Some(partition) => partition.change(fields),
                        None => self.orphans += 1,
                    },
                    (_, None) => self.orphans += 1,
                }
            }
        }
    }

    fn apply_to_nodes(&mut self, name: &str, fields: &MessageValue) {
        let id = ["brokerId", "id", "controllerId"].iter().find_map(|name| fields.int(name)).unwrap_or(-1);
        match name {
            "REGISTER_BROKER_RECORD" => {
                self.brokers.insert(id, Broker::of(fields));
            }
            "UNREGISTER_BROKER_RECORD" => {
                self.brokers.remove(&id);
            }
            "REGISTER_CONTROLLER_RECORD" => {
                self.controllers.insert(id, Controller::of(fields));
            }
            "FENCE_BROKER_RECORD" | "UNFENCE_BROKER_RECORD" | "BROKER_REGISTRATION_CHANGE_RECORD" => match self.brokers.get_mut(&id) {
                Some(broker) if name == "BROKER_REGISTRATION_CHANGE_RECORD" => broker.change(fields),
                Some(broker) => broker.is_fenced = name == "FENCE_BROKER_RECORD",
                None => self.orphans += 1,
            },
            _ => {}
        }
    }

    fn configure(&mut self, fields: &MessageValue) {
        let text = |name| fields.text(name).unwrap_or_default().to_owned();
        let key = (fields.int("resourceType").unwrap_or(0), text("resourceName"), text("name"));
        match fields.text("value") {
            Some(value) => self.configs.insert(key, value.to_owned()),
            None => self.configs.remove(&key),
        };
    }

    fn set_quota(&mut self, fields: &MessageValue) {
        let kind = |entity: &MessageValue| {
            (entity.text("entityType").unwrap_or_default().to_owned(), entity.text("entityName").map(str::to_owned))
        };
        let mut entity: QuotaEntity = fields.list("entity").unwrap_or_default().iter().map(kind).collect();
        entity.sort();
        let key = (entity, fields.text("key").unwrap_or_default().to_owned());
        match fields.get("value") {
            MessageValue::Float(value) if !fields.is_true("remove") => self.quotas.insert(key, *value),
            _ => self.quotas.remove(&key),
        };
    }

    fn set_feature(&mut self, fields: &MessageValue) {
        let name = fields.text("name").unwrap_or_default().to_owned();
        match fields.int("featureLevel").unwrap_or(0) {
            0 => self.features.remove(&name),
            level => self.features.insert(name, level),
        };
    }
}

fn credential(fields: &MessageValue) -> (String, i32) {
    (fields.text("name").unwrap_or_default().to_owned(), fields.int("mechanism").unwrap_or(0))
}

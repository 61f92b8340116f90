use super::*;
use crate::internal_topics::Undecoded;

const ID: Uuid = [7; 16];

fn text(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len() + 1).unwrap()][..], text.as_bytes()].concat()
}

/// A record of the metadata log: frame, type, version, fields.
fn record(id: u8, version: u8, fields: &[&[u8]]) -> Vec<u8> {
    [&[1, id, version][..], &fields.concat()].concat()
}

fn ints(numbers: &[i32]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(numbers.len() + 1).unwrap()];
    numbers.iter().for_each(|number| bytes.extend(number.to_be_bytes()));
    bytes
}

fn topic(name: &str, id: Uuid) -> Vec<u8> {
    record(2, 0, &[&text(name), &id, &[0]])
}

fn partition(number: i32, id: Uuid) -> Vec<u8> {
    let numbers: [&[u8]; 8] =
        [&number.to_be_bytes(), &id, &ints(&[1, 2]), &ints(&[1, 2]), &ints(&[]), &ints(&[]), &1_i32.to_be_bytes(), &0_i32.to_be_bytes()];
    record(3, 0, &[&numbers.concat(), &0_i32.to_be_bytes(), &[0]])
}

/// A change of the ISR to one broker, and of the leader.
fn change(number: i32, id: Uuid) -> Vec<u8> {
    let isr = ints(&[2]);
    let tagged: [&[u8]; 4] = [&[2, 0, u8::try_from(isr.len()).unwrap()], &isr, &[1, 4], &2_i32.to_be_bytes()];
    record(5, 0, &[&number.to_be_bytes(), &id, &tagged.concat()])
}

fn config(name: &str, value: Option<&str>) -> Vec<u8> {
    record(4, 0, &[&[2], &text("orders"), &text(name), &value.map_or_else(|| vec![0], text), &[0]])
}

fn replayed(records: &[Vec<u8>]) -> (Metadata, Vec<(i64, Undecoded)>) {
    let mut state = Metadata::default();
    let mut unread = Vec::new();
    for (offset, value) in (0..).zip(records) {
        unread.extend(state.add(offset, false, None, Some(value)));
    }
    (state, unread)
}

#[test]
fn a_change_keeps_what_it_does_not_name() {
    let (state, unread) = replayed(&[topic("orders", ID), partition(0, ID), change(0, ID)]);
    assert_eq!(unread, []);
    let own = &state.topics[&ID].partitions[&0];
    assert_eq!((own.replicas.as_slice(), own.isr.as_slice(), own.leader), (&[1, 2][..], &[2][..], 2));
    assert_eq!((own.leader_epoch, own.partition_epoch), (1, 1));
}

#[test]
fn a_deleted_topic_takes_its_configurations_along() {
    let removed = record(9, 0, &[&ID, &[0]]);
    let (state, _) = replayed(&[topic("orders", ID), partition(0, ID), config("retention.ms", Some("5")), removed]);
    assert!(state.topics.is_empty() && state.configs.is_empty());
    assert_eq!(state.deleted[&ID].name, "orders");
}

#[test]
fn a_null_value_removes_a_configuration() {
    let (state, _) = replayed(&[config("a", Some("1")), config("b", Some("2")), config("a", None)]);
    assert_eq!(state.configs.into_iter().collect::<Vec<_>>(), [((2, "orders".to_owned(), "b".to_owned()), "2".to_owned())]);
}

#[test]
fn a_transaction_counts_at_its_end_and_never_if_it_is_aborted() {
    let (begin, end, abort) = (record(23, 0, &[&[0]]), record(24, 0, &[&[0]]), record(25, 0, &[&[0]]));
    let (state, _) = replayed(&[begin.clone(), topic("orders", ID)]);
    assert_eq!((state.topics.len(), state.open_records()), (0, Some(1)));
    let (state, _) = replayed(&[begin.clone(), topic("orders", ID), end]);
    assert_eq!((state.topics.len(), state.open_records()), (1, None));
    let (state, _) = replayed(&[begin, topic("orders", ID), abort]);
    assert_eq!((state.topics.len(), state.open_records()), (0, None));
}

#[test]
fn records_that_cannot_be_read_are_named_by_their_offsets() {
    let (state, unread) = replayed(&[topic("orders", ID), record(2, 9, &[]), record(2, 0, &[&[9]]), record(99, 0, &[])]);
    assert_eq!(
        unread.iter().map(|(offset, undecoded)| (*offset, undecoded.rule())).collect::<Vec<_>>(),
        [(1, "INT-1"), (2, "INT-2"), (3, "INT-1")]
    );
    assert_eq!(state.topics.len(), 1);
}

#[test]
fn what_no_record_has_created_is_counted() {
    let (state, _) = replayed(&[change(0, ID), topic("orders", ID), change(3, ID)]);
    assert_eq!(state.orphans, 2);
}

/// Text of the messages of coordinators, which has a length of two bytes before version 4.
fn long_text(text: &str) -> Vec<u8> {
    [&u16::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat()
}

fn group_key(id: i16, group: &str) -> Vec<u8> {
    [&id.to_be_bytes()[..], &long_text(group)].concat()
}

fn member_key(id: i16, group: &str, member: &str) -> Vec<u8> {
    [group_key(id, group), long_text(member)].concat()
}

#[test]
fn a_consumer_group_has_the_state_that_its_coordinator_computes() {
    let mut groups = Groups::default();
    let add = |groups: &mut Groups, key: &[u8], value: Option<&[u8]>| assert_eq!(groups.add(0, None, Some(key), value), None);
    let epoch = |epoch: i32| [&[0, 0][..], &epoch.to_be_bytes(), &[0]].concat();
    let assigned = |epoch: i32, state: u8| [&[0, 0][..], &epoch.to_be_bytes(), &0_i32.to_be_bytes(), &[state, 1, 1, 0]].concat();
    add(&mut groups, &group_key(3, "g"), Some(&epoch(5)));
    assert_eq!(groups.groups["g"].state(), "Empty");
    add(&mut groups, &member_key(8, "g", "m"), Some(&assigned(5, 0)));
    assert_eq!(groups.groups["g"].state(), "Assigning");
    add(&mut groups, &group_key(6, "g"), Some(&epoch(5)));
    assert_eq!((groups.groups["g"].state(), groups.groups["g"].kind), ("Stable", GroupKind::Consumer));
    add(&mut groups, &member_key(8, "g", "m"), Some(&assigned(4, 0)));
    assert_eq!(groups.groups["g"].state(), "Reconciling");
    add(&mut groups, &member_key(8, "g", "m"), None);
    assert_eq!(groups.groups["g"].state(), "Reconciling");
    add(&mut groups, &member_key(5, "g", "m"), None);
    assert_eq!(groups.groups["g"].state(), "Empty");
    add(&mut groups, &group_key(2, "g"), None);
    assert_eq!(groups.groups.len(), 1, "the tombstone of a classic group is not that of a consumer group");
    add(&mut groups, &group_key(3, "g"), None);
    assert!(groups.groups.is_empty());
}

#[test]
fn an_update_of_a_share_group_has_only_what_changed() {
    let key = |id: i16| [group_key(id, "s"), ID.to_vec(), 3_i32.to_be_bytes().to_vec()].concat();
    let snapshot = [&[0, 0][..], &[0; 12], &5_i64.to_be_bytes(), &[0; 16], &[1, 0]].concat();
    let update = |start: i64| [&[0, 0][..], &[0; 8], &start.to_be_bytes(), &[1, 0]].concat();
    let mut state = ShareOffsets::default();
    let place = SharePartition { group: "s".to_owned(), topic_id: ID, partition: 3 };
    assert_eq!(state.add(0, Some(&key(0)), Some(&snapshot)), None);
    assert_eq!(state.add(1, Some(&key(1)), Some(&update(-1))), None);
    assert_eq!(state.offsets[&place].start_offset, 5);
    assert_eq!(state.add(2, Some(&key(1)), Some(&update(9))), None);
    assert_eq!(state.offsets[&place].start_offset, 9);
    assert_eq!(state.add(3, Some(&key(0)), None), None);
    assert!(state.offsets.is_empty());
}

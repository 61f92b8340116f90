use std::path::{Path, PathBuf};

use super::testing::FilesInMemory;
use super::{DiscoveredSegments, PartitionSelection, Replica, ReplicaChoice, SegmentFile, SegmentSearch};
use super::{by_partition, deleted_records, discovery, log_starts, patterns, replica_findings, segments_of_directory, with_neighbours};
use crate::decode::OffsetRange;
use crate::error::{ErrorKind, Result};
use crate::validate::Severity;

/// Batches of no one.
const NONE: &[(i64, i64)] = &[];

fn name(offset: i64) -> String {
    format!("{offset:020}.log")
}

fn files(paths: &[String]) -> FilesInMemory {
    FilesInMemory::of(&paths.iter().map(|path| (path.as_str(), NONE)).collect::<Vec<_>>())
}

fn paths(found: &[SegmentFile]) -> Vec<String> {
    found.iter().map(|file| file.path.to_string_lossy().into_owned()).collect()
}

fn search(paths: &[&str], selection: &PartitionSelection, replica: Option<Replica>, storage: &FilesInMemory) -> Result<DiscoveredSegments> {
    let replicas = replica.map(ReplicaChoice::new);
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    SegmentSearch { has_patterns: true, selection, replicas }.run(&paths, storage, &mut Err)
}

#[test]
fn a_tree_gives_partitions_by_number_and_leaves_out_those_that_a_broker_gave_up() {
    let given_up = format!("/logs/t-0.{}-delete/{}", "0a".repeat(16), name(0));
    let order = ["/logs/a/s-1/", "/logs/a/t-2/", "/logs/a/t-10/", "/logs/b/s-0/"].map(|directory| format!("{directory}{}", name(0)));
    let other = ["/logs/a/meta.properties".to_owned(), given_up.clone(), format!("/logs/lost+found/{}", name(0))];
    let storage = files(&[order.as_slice(), &other].concat());
    let found = discovery::find(Path::new("/logs"), &storage).unwrap();
    assert_eq!(paths(&found.files), order);
    assert_eq!((found.files[2].topic.as_deref(), found.files[2].partition, found.files[2].is_listed), (Some("t"), Some(10), true));
    let named = discovery::find(Path::new(&given_up), &storage).unwrap();
    assert_eq!((named.files[0].topic.as_deref(), named.files[0].is_listed), (Some("t"), false));
}

#[test]
fn a_segment_has_the_offsets_up_to_the_next_one() {
    let (first, second) = (format!("t-0/{}", name(0)), format!("t-0/{}", name(100)));
    let storage = files(&[first.clone(), second, "t-0/dump.bin".to_owned()]);
    let found = discovery::find(Path::new("t-0"), &storage).unwrap().files;
    let offsets = |start, end| Some(OffsetRange { start, end });
    assert_eq!((found[0].offsets, found[0].next_offset), (offsets(0, Some(100)), Some(100)));
    assert_eq!((found[1].offsets, found[1].next_offset), (offsets(100, None), None));
    let named = discovery::find(Path::new(&first), &storage).unwrap().files.remove(0);
    assert_eq!((named.offsets, with_neighbours(&named, &storage).unwrap().offsets), (None, offsets(0, Some(100))));
    assert_eq!(segments_of_directory(&named, &storage).unwrap().len(), 2);
    let other = discovery::find(Path::new("t-0/dump.bin"), &storage).unwrap().files.remove(0);
    assert_eq!(segments_of_directory(&other, &storage).unwrap(), [other]);
}

#[test]
fn entries_that_cannot_be_read_have_findings_and_no_segment_is_an_error() {
    let (fifo, link) = (format!("/l/t-0/{}", name(5)), "/l/t-0/link".to_owned());
    let storage = files(&["/l/t-0/x".to_owned()]).with_odd(&fifo, &link);
    let error = discovery::find(Path::new("/l"), &storage).unwrap_err();
    let ErrorKind::Files { problem, .. } = error.kind() else { panic!("{error}") };
    assert!(problem.contains("no log segments") && problem.ends_with(&format!("{fifo}: skipped, not a regular file")), "{problem}");
    let found = discovery::find(Path::new("/l"), &storage.with(&format!("/l/t-0/{}", name(0)), &[])).unwrap();
    assert_eq!(
        found.findings.iter().map(|finding| (finding.rule(), finding.base_offset)).collect::<Vec<_>>(),
        [("SEG-15", Some(5)), ("SEG-15", None)]
    );
}

#[test]
fn a_partition_is_chosen_by_its_names_or_named_by_the_caller() {
    let storage = files(&["/l/a-0/", "/l/a-1/", "/l/b-0/"].map(|directory| format!("{directory}{}", name(0))));
    let selection = |topics: &[&str], partition| PartitionSelection {
        topics: Some(topics.iter().map(|topic| (*topic).to_owned()).collect()),
        partition,
    };
    let found = |selection: &PartitionSelection| search(&["/l"], selection, None, &storage).map(|found| found.files.len());
    assert_eq!(found(&PartitionSelection::default()), Ok(3));
    assert_eq!(found(&selection(&["a"], Some(1))), Ok(1));
    assert_eq!(found(&selection(&["b", "a", "b"], None)), Ok(3));
    assert_eq!(found(&PartitionSelection { topics: None, partition: Some(0) }), Ok(2));
    assert_eq!(found(&selection(&["c"], None)).unwrap_err().message(), "no such topic: c; there are a, b");
    assert_eq!(found(&selection(&["a"], Some(7))).unwrap_err().message(), "no such partition: 7; there are 0, 1");
    let unnamed = files(&[format!("/l/x/{}", name(0))]);
    let found = search(&["/l"], &selection(&["orders"], Some(3)), Some(Replica::Unknown), &unnamed).unwrap().files;
    assert_eq!((found[0].topic.as_deref(), found[0].partition), (Some("orders"), Some(3)));
}

#[test]
fn several_paths_name_each_file_once() {
    let (first, second) = (format!("/l/a-0/{}", name(0)), format!("/l/a-0/{}", name(10)));
    let storage = files(&[first.clone(), second.clone()]).linked("/current", "/l");
    let all = PartitionSelection::default();
    for arguments in [&[second.as_str(), "/l"][..], &["/l", "/current"], &["/l/a-*", "/l", &first]] {
        let found = search(arguments, &all, Some(Replica::Unknown), &storage).unwrap().files;
        assert_eq!(paths(&found), [first.clone(), second.clone()], "{arguments:?}");
        assert!(found.iter().all(|file| file.is_listed));
    }
    let linked = search(&["/current"], &all, None, &storage).unwrap().files;
    assert_eq!(paths(&linked), [format!("/current/a-0/{}", name(0)), format!("/current/a-0/{}", name(10))]);
    let named = linked.iter().map(|file| SegmentFile { is_listed: false, ..file.clone() });
    let groups = by_partition(&named.chain(linked.clone()).collect::<Vec<_>>(), &storage);
    assert_eq!(groups, [("/current/a-0".to_owned(), vec![2, 3])]);
}

#[test]
fn errors_of_single_paths_are_collected() {
    let storage = files(&[format!("/l/a-0/{}", name(0))]);
    let mut failed = Vec::new();
    let search = SegmentSearch { has_patterns: true, selection: &PartitionSelection::default(), replicas: None };
    let paths = ["/none", "/l/x*", "/l"].map(PathBuf::from);
    let found = search.run(&paths, &storage, &mut |error| {
        failed.push(error);
        Ok(())
    });
    assert_eq!((found.unwrap().files.len(), failed.len()), (1, 2));
}

#[test]
fn patterns_match_paths_that_are_there() {
    let storage = files(&["/l/a-0/x".to_owned(), "/l/b-0/x".to_owned(), "/l/.a/x".to_owned(), "/l/a[0]/y".to_owned()]);
    let matching = |pattern: &str| patterns::matching(Path::new(pattern), &storage);
    assert_eq!(matching("/l/?-0").unwrap(), ["/l/a-0", "/l/b-0"].map(PathBuf::from));
    assert_eq!(matching("/l/*/x").unwrap(), ["/l/a-0/x", "/l/b-0/x"].map(PathBuf::from));
    assert_eq!(matching("/l/a[0]").unwrap(), [PathBuf::from("/l/a[0]")]);
    assert_eq!(matching("/l/.*").unwrap(), [PathBuf::from("/l/.a")]);
    assert!(matches!(matching("/l/c*").unwrap_err().kind(), ErrorKind::Files { os_code: 2, .. }));
    assert!(matches!(matching("/l/c").unwrap_err().kind(), ErrorKind::Io { .. }));
}

/// `sale-0` on two disks, the longer one on the second.
fn disks() -> FilesInMemory {
    let path = |disk: &str, offset| format!("/jbod/{disk}/sale-0/{}", name(offset));
    FilesInMemory::of(&[(&path("d1", 0), &[(0, 4)]), (&path("d2", 0), &[(0, 4)]), (&path("d2", 5), &[(5, 8)])])
}

#[test]
fn a_partition_in_several_directories_needs_a_choice() {
    let storage = disks();
    let chosen =
        |replica| search(&["/jbod"], &PartitionSelection::default(), Some(replica), &storage).map(|found| paths(&found.files).len());
    let ErrorKind::Replicas { problem, is_asked: false } = chosen(Replica::Unknown).unwrap_err().kind().clone() else { panic!() };
    assert_eq!(problem, "sale-0 is in 2 directories: /jbod/d1/sale-0, /jbod/d2/sale-0");
    assert_eq!((chosen(Replica::First), chosen(Replica::Longest)), (Ok(1), Ok(2)));
    assert_eq!(chosen(Replica::Below("/jbod/d1".into())), Ok(1));
    for path in ["/jbod", "/other"] {
        let error = chosen(Replica::Below(path.into())).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Replicas { is_asked: true, .. }), "{error}");
    }
    let every = discovery::find(Path::new("/jbod"), &storage).unwrap().files;
    let (above, findings) = replica_findings(&every, &storage);
    assert_eq!((above.as_str(), findings.len()), ("/jbod", 1));
}

#[test]
fn a_choice_stays_the_same() {
    let storage = disks();
    let every = discovery::find(Path::new("/jbod"), &storage).unwrap().files;
    let mut choice = ReplicaChoice::new(Replica::First);
    assert_eq!(choice.of(&every, &storage).unwrap(), [true, false, false]);
    assert_eq!(choice.of(&every[1..], &storage).unwrap(), [false, false]);
    let mut unknown = ReplicaChoice::new(Replica::Unknown);
    assert_eq!(unknown.of(&every[1..], &storage).unwrap(), [true, true]);
    assert!(unknown.of(&every, &storage).is_err(), "another directory has come");
}

/// The name of a file, with the severity and the offsets of its finding.
type Noted = (String, Severity, Option<i64>, Option<i64>);

/// The segments that are read, and the findings.
fn work(storage: &FilesInMemory) -> (Vec<String>, Vec<Noted>) {
    let found = discovery::find(Path::new("/l/cart-0"), storage).unwrap();
    let name = |finding: &crate::validate::Finding| finding.file.as_deref().unwrap().rsplit_once('/').unwrap().1.to_owned();
    let findings = found.findings.iter().map(|finding| (name(finding), finding.severity, finding.base_offset, finding.last_offset));
    (found.files.iter().map(SegmentFile::name).collect(), findings.collect())
}

fn in_cart(name: &str) -> String {
    format!("/l/cart-0/{name}")
}

#[test]
fn a_swap_is_completed_as_a_broker_does() {
    let (swap, deleted) = (format!("{}.swap", name(0)), format!("{}.deleted", name(10)));
    let storage = FilesInMemory::of(&[
        (&in_cart(&swap), &[(1, 9), (12, 18)]),
        (&in_cart(&deleted), &[(10, 19)]),
        (&in_cart(&name(10)), &[(10, 19)]),
        (&in_cart(&name(20)), &[(20, 24)]),
    ]);
    let (files, findings) = work(&storage);
    assert_eq!(files, [swap.clone(), name(20)]);
    assert_eq!(
        findings,
        [
            (swap.clone(), Severity::Info, Some(0), Some(18)),
            (name(10), Severity::Info, Some(10), Some(19)),
            (deleted, Severity::Info, Some(10), Some(19)),
        ]
    );
    // A file of a cleaner with an earlier offset ends the swap.
    let (files, findings) = work(&storage.with(&in_cart("00000000000000000000.index.cleaned"), &[]));
    assert_eq!(files, [name(10), name(20)]);
    assert_eq!(findings[0], (swap, Severity::Info, Some(1), Some(18)));
}

#[test]
fn records_that_nothing_else_has_are_a_warning() {
    let deleted = format!("{}.deleted", name(10));
    let storage =
        FilesInMemory::of(&[(&in_cart(&name(0)), &[(0, 9)]), (&in_cart(&deleted), &[(10, 19)]), (&in_cart(&name(20)), &[(20, 24)])]);
    assert_eq!(work(&storage).1, [(deleted.clone(), Severity::Warning, Some(10), Some(19))]);
    let below = |start| storage.clone().with("/l/log-start-offset-checkpoint", format!("0\n1\ncart 0 {start}\n").as_bytes());
    assert_eq!(work(&below(15)).1, [(deleted.clone(), Severity::Warning, Some(15), Some(19))]);
    assert_eq!(work(&below(20)).1, [(deleted, Severity::Info, Some(10), Some(19))]);
}

#[test]
fn a_log_start_offset_counts_unless_it_is_above_the_end() {
    let storage =
        FilesInMemory::of(&[("/l/t-0/00000000000000000000.log", &[(0, 4), (5, 9)]), ("/l/t-0/00000000000000000010.log", &[(10, 14)])]);
    let started = |text: &str| {
        let storage = storage.clone().with("/l/log-start-offset-checkpoint", text.as_bytes());
        let files = discovery::find(Path::new("/l"), &storage).unwrap().files;
        let (starts, findings) = log_starts(&files, &storage).unwrap();
        (starts, findings.iter().map(|finding| (finding.rule(), finding.kind.to_string())).collect::<Vec<_>>())
    };
    assert_eq!(started("0\n1\nt 0 7\n"), (vec![Some(7), Some(7)], vec![]));
    assert_eq!(started("0\n1\nother 0 7\n"), (vec![None, None], vec![]));
    assert_eq!(started("0\n1\nt 0 15\n"), (vec![Some(15), Some(15)], vec![]));
    let (starts, findings) = started("0\n1\nt 0 16\n");
    assert_eq!((starts, findings[0].0), (vec![None, None], "SEG-20"));
    assert!(findings[0].1.contains("16 in log-start-offset-checkpoint is above the log end offset 15"), "{findings:?}");
    let (starts, findings) = started("garbage");
    assert_eq!((starts, findings.len(), findings[0].0), (vec![None, None], 1, "SEG-21"));
    let named = discovery::find(Path::new("/l/t-0/00000000000000000000.log"), &storage).unwrap().files;
    assert_eq!(deleted_records(&named, None, &storage), Ok(vec![]));
}

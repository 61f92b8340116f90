use super::*;

#[test]
fn position_is_in_reading_order_and_never_overwritten() {
    let error = Error::new(ErrorKind::Varint { rule: "PRM-4" }).in_field("keyLength").in_record(3).in_batch(40).at_byte(7).at_byte(9);
    assert_eq!(error.to_string(), "[PRM-4] at byte 7, base offset 40, record 3, field keyLength: variable-length integer is too long");
}

#[test]
fn the_file_comes_first_and_is_never_overwritten() {
    let error = Error::new(ErrorKind::Varint { rule: "PRM-4" }).at_byte(7).in_file(&"a.log".into()).in_file(&"b.log".into());
    assert_eq!(error.file(), Some("a.log"));
    assert_eq!(error.to_string(), "a.log: [PRM-4] at byte 7: variable-length integer is too long");
}

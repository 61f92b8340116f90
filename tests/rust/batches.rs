//! Record batches built field by field, as layout.rs draws them.

use logsegment::wire::checksum::crc32c;

pub fn varint(value: i64) -> Vec<u8> {
    let mut raw = ((value << 1) ^ (value >> 63)) as u64;
    let mut bytes = Vec::new();
    while raw >= 0x80 {
        bytes.push((raw & 0x7f) as u8 | 0x80);
        raw >>= 7;
    }
    bytes.push(raw as u8);
    bytes
}

fn nullable(bytes: Option<&[u8]>) -> Vec<u8> {
    let mut field = varint(bytes.map_or(-1, |bytes| bytes.len() as i64));
    field.extend_from_slice(bytes.unwrap_or_default());
    field
}

pub fn record(offset_delta: i64, key: Option<&[u8]>, value: Option<&[u8]>, headers: &[(&str, Option<&[u8]>)]) -> Vec<u8> {
    let mut body = vec![0];
    body.extend(varint(offset_delta * 3));
    body.extend(varint(offset_delta));
    body.extend(nullable(key));
    body.extend(nullable(value));
    body.extend(varint(headers.len() as i64));
    for (name, value) in headers {
        body.extend(nullable(Some(name.as_bytes())));
        body.extend(nullable(*value));
    }
    let mut record = varint(body.len() as i64);
    record.extend(body);
    record
}

pub fn batch(base_offset: i64, count: i32, attributes: i16, records: &[u8]) -> Vec<u8> {
    let mut tail = Vec::new();
    tail.extend(attributes.to_be_bytes());
    tail.extend((count - 1).to_be_bytes());
    tail.extend(1_600_000_000_000_i64.to_be_bytes());
    tail.extend((1_600_000_000_000_i64 + i64::from(count - 1) * 3).to_be_bytes());
    tail.extend((-1_i64).to_be_bytes());
    tail.extend((-1_i16).to_be_bytes());
    tail.extend((-1_i32).to_be_bytes());
    tail.extend(count.to_be_bytes());
    tail.extend_from_slice(records);
    let mut batch = base_offset.to_be_bytes().to_vec();
    batch.extend((tail.len() as i32 + 9).to_be_bytes());
    batch.extend(0_i32.to_be_bytes());
    batch.push(2);
    batch.extend(crc32c(&tail).to_be_bytes());
    batch.extend(tail);
    batch
}

/// Some records with and without keys, values and headers.
pub fn sample(base_offset: i64, records: i32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for index in 0..i64::from(records) {
        let value = vec![index as u8; (index as usize * 37) % 300];
        let key = (index % 3 != 0).then_some(&b"key"[..]);
        let headers: &[(&str, Option<&[u8]>)] = if index % 4 == 0 { &[("h", Some(b"v")), ("h", None)] } else { &[] };
        bytes.extend(record(index, key, (index % 5 != 0).then_some(&value), headers));
    }
    batch(base_offset, records, 0, &bytes)
}

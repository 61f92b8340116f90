//! Container files of Avro as values of records: the schema of the file, and its one value.
//!
//! Source: "Object Container Files" in the specification of Avro 1.12.

use super::avro::crc;
use super::body::Body;
use super::framed::{Framed, framed};
use super::payload::{Payload, Problem, Read};
use super::schema_name::SchemaName;

const MAGIC: &[u8] = b"Obj\x01";
const SYNC_BYTES: usize = 16;
/// Most metadata of a file.
const MOST_PAIRS: usize = 1_000;

/// Takes a file with one value apart.
///
/// # Errors
/// `Framing` for a file that is cut short or has another codec; `Text` for one without a value, or with several.
pub fn parse(value: &[u8]) -> Read<Framed<'_>> {
    let (text, body, mut rest) = head(value)?;
    let sync = rest.take(SYNC_BYTES)?;
    let count = rest.long()?;
    let several = |count| Box::new(Problem::Text(format!("{count} values in the Avro container file of one record; only one is decoded")));
    if count != 1 {
        return Err(several(count));
    }
    let payload = rest.run()?;
    if rest.take(SYNC_BYTES)? != sync {
        return Err(Box::new(Problem::Framing("the block of the Avro container file does not end with its sync marker")));
    }
    if rest.left() > 0 {
        return Err(several(count.saturating_add(rest.long()?)));
    }
    Ok(Framed { body, ..framed(name_of(text), payload) })
}

/// The text of the schema of a file, if the value is one.
pub fn schema_text(value: &[u8]) -> Option<&str> {
    if !value.starts_with(MAGIC) {
        return None;
    }
    head(value).ok().map(|(text, ..)| text)
}

/// The name by which a value has a schema with this text.
pub fn name_of(text: &str) -> SchemaName {
    SchemaName::Embedded(crc(text.as_bytes()).to_le_bytes())
}

/// The text of the schema, the codec, and what is after the metadata.
fn head(value: &[u8]) -> Read<(&str, Body, Payload<'_>)> {
    let bad = |what| Box::new(Problem::Framing(what));
    let mut rest = Payload::new(value.strip_prefix(MAGIC).ok_or_else(|| bad("the value is not an Avro container file"))?);
    let (mut text, mut codec, mut pairs) = (None, &b"null"[..], 0);
    loop {
        let block = rest.block(2)?;
        if block == 0 {
            break;
        }
        pairs += block;
        if pairs > MOST_PAIRS {
            return Err(bad("the Avro container file has too much metadata"));
        }
        for _ in 0..block {
            match (rest.run()?, rest.run()?) {
                (b"avro.schema", found) => text = std::str::from_utf8(found).ok(),
                (b"avro.codec", found) => codec = found,
                _ => {}
            }
        }
    }
    let body = match codec {
        b"null" => Body::Plain,
        b"deflate" => Body::Deflate,
        b"snappy" => Body::Snappy,
        b"zstandard" => Body::Zstd,
        _ => return Err(bad("the codec of the Avro container file is not decoded; null, deflate, snappy and zstandard are")),
    };
    Ok((text.ok_or_else(|| bad("the Avro container file has no schema"))?, body, rest))
}

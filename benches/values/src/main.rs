//! Decodes Avro values in Confluent's framing, back to back in a file, by arrow-avro: FILE SCHEMA ID ROWS_OF_A_BATCH ROUNDS.
//! Prints {"rows", "seconds": [of each round]}.

use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_avro::reader::ReaderBuilder;
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&arguments[1]).unwrap();
    let schema = std::fs::read_to_string(&arguments[2]).unwrap();
    let [id, batch_size, rounds] = [3, 4, 5].map(|at: usize| arguments[at].parse::<u32>().unwrap());
    let mut seconds = Vec::new();
    let mut rows = 0;
    for _ in 0..rounds {
        let start = Instant::now();
        let batches = decoded(&data, &schema, id, batch_size as usize);
        seconds.push(start.elapsed().as_secs_f64());
        rows = batches.iter().map(RecordBatch::num_rows).sum();
    }
    println!("{{\"rows\": {rows}, \"seconds\": {seconds:?}}}");
}

fn decoded(data: &[u8], schema: &str, id: u32, batch_size: usize) -> Vec<RecordBatch> {
    let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id);
    store.set(Fingerprint::Id(id), AvroSchema::new(schema.to_owned())).unwrap();
    let mut decoder = ReaderBuilder::new().with_batch_size(batch_size).with_writer_schema_store(store).build_decoder().unwrap();
    let mut batches = Vec::new();
    let mut at = 0;
    while at < data.len() {
        at += decoder.decode(&data[at..]).unwrap();
        if decoder.batch_is_full() || at == data.len() {
            batches.extend(decoder.flush().unwrap());
        }
    }
    batches
}

//! The Python module: names, arguments, the GIL. Parses nothing. The only room that names pyo3.

mod arrow;
mod bytes_writer;
mod encode_options;
mod errors;
mod finding;
mod interrupt;
mod lent_bytes;
mod limits;
mod lost_ranges;
mod native_codec;
mod options;
mod output;
mod plugins;
mod source;
mod verbs;
mod writer_pool;

use pyo3::prelude::*;

/// The native core of logsegment.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    module.add_class::<limits::Limits>()?;
    module.add_class::<source::FileSource>()?;
    module.add_class::<finding::Finding>()?;
    module.add_class::<verbs::transactions::Transactions>()?;
    module.add_class::<arrow::export::ArrowBatch>()?;
    module.add_function(wrap_pyfunction!(verbs::compare::equal_rows, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::compare::different_columns, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::compare::compare_records, module)?)?;
    module.add_class::<arrow::export::ArrowArray>()?;
    module.add_class::<arrow::table::ArrowTable>()?;
    module.add_class::<verbs::stats::BatchCounter>()?;
    module.add_class::<arrow::stream::RecordStream>()?;
    module.add_function(wrap_pyfunction!(verbs::decode::decode, module)?)?;
    module.add_function(wrap_pyfunction!(source::paths::ensure_log_segment, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::decode::internal_topics, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::batches::batch_stream, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::batches::header_totals, module)?)?;
    module.add_class::<verbs::valid_batches::BatchHeader>()?;
    module.add_class::<verbs::valid_batches::ValidBatches>()?;
    module.add_function(wrap_pyfunction!(verbs::valid_batches::valid_batches, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::valid_batches::batch_headers, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::time_lookup::first_offset_at, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::encode::encode, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::validate::validate_findings, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::inspect::inspect_entry, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::validate::findings_table, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::transactions::scan_transactions, module)?)?;
    module.add_class::<verbs::transactions::TransactionHistory>()?;
    module.add_function(wrap_pyfunction!(verbs::decode_files::decode_files, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::decode_files::batch_files, module)?)?;
    module.add_class::<verbs::segment::SegmentIndex>()?;
    module.add_function(wrap_pyfunction!(verbs::segment::read_txn_index, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::segment::read_producer_snapshot, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::segment::read_leader_epochs, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::segment::index_positions, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::segment::index_len_before, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::segment::parse_leader_epochs, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::segment::read_offset_checkpoint, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::segment::committed_transactions, module)?)?;
    module.add_class::<verbs::log_end::LogEnd>()?;
    module.add_class::<verbs::log_end::StableOffset>()?;
    module.add_class::<verbs::log_end::Tail>()?;
    module.add_function(wrap_pyfunction!(verbs::log_end::log_end, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::log_end::has_batch, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::validate_log::validate_log, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::rebuild::rebuild_indexes, module)?)?;
    module.add_class::<verbs::staging::StagedWriter>()?;
    module.add_function(wrap_pyfunction!(verbs::staging::place_staged, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::rebuild::segment_end, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::arrays::decode_array, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::arrays::batch_info_array, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::arrays::validate_array, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::arrays::explode_array, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::convert::convert, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::convert::convert_array, module)?)?;
    module.add_class::<verbs::record_sections::RecordSections>()?;
    module.add_function(wrap_pyfunction!(verbs::torn_header::torn_offsets, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::salvage::salvage, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::broker::broker_append, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::broker::broker_fetch, module)?)?;
    module.add_class::<verbs::lz4::Lz4Rewriter>()?;
    module.add_function(wrap_pyfunction!(verbs::lz4::lz4_header_checksum, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::lz4::lz4_survey, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::zstd_frame::decompress_zstd, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::compat::compat_versions, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::compat::compat_clients, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::compat::compat_client, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::compat::compat_errors, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::compat::compat_verdict, module)?)?;
    module.add_function(wrap_pyfunction!(verbs::arrays::encode_array, module)?)?;
    Ok(())
}

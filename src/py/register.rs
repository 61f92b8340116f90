use pyo3::prelude::*;

use super::{
    array, arrow_out, batches, broker, compat, convert, counting, decode, encode, errors, files, finding, inspect, limits, lz4, rebuild,
    salvage, segment, source, staging, stream, table, tail, transactions, validate, validate_log, zstd_frame,
};

/// The native core of logsegment.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    module.add_class::<limits::Limits>()?;
    module.add_class::<source::FileSource>()?;
    module.add_class::<finding::Finding>()?;
    module.add_class::<transactions::Transactions>()?;
    module.add_class::<arrow_out::ArrowBatch>()?;
    module.add_class::<arrow_out::ArrowArray>()?;
    module.add_class::<table::ArrowTable>()?;
    module.add_class::<counting::BatchCounter>()?;
    module.add_class::<stream::RecordStream>()?;
    module.add_function(wrap_pyfunction!(decode::decode, module)?)?;
    module.add_function(wrap_pyfunction!(decode::internal_topics, module)?)?;
    module.add_function(wrap_pyfunction!(batches::batch_stream, module)?)?;
    module.add_function(wrap_pyfunction!(batches::header_totals, module)?)?;
    module.add_function(wrap_pyfunction!(encode::encode, module)?)?;
    module.add_function(wrap_pyfunction!(validate::validate_findings, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::inspect_entry, module)?)?;
    module.add_function(wrap_pyfunction!(validate::findings_table, module)?)?;
    module.add_function(wrap_pyfunction!(transactions::scan_transactions, module)?)?;
    module.add_function(wrap_pyfunction!(transactions::scan_markers, module)?)?;
    module.add_function(wrap_pyfunction!(files::decode_files, module)?)?;
    module.add_function(wrap_pyfunction!(files::batch_files, module)?)?;
    module.add_class::<segment::SegmentIndex>()?;
    module.add_function(wrap_pyfunction!(segment::read_txn_index, module)?)?;
    module.add_function(wrap_pyfunction!(segment::read_producer_snapshot, module)?)?;
    module.add_function(wrap_pyfunction!(segment::read_leader_epochs, module)?)?;
    module.add_function(wrap_pyfunction!(segment::read_offset_checkpoint, module)?)?;
    module.add_function(wrap_pyfunction!(segment::committed_transactions, module)?)?;
    module.add_function(wrap_pyfunction!(segment::open_transactions, module)?)?;
    module.add_class::<tail::Followed>()?;
    module.add_function(wrap_pyfunction!(tail::follow_log, module)?)?;
    module.add_function(wrap_pyfunction!(validate_log::validate_log, module)?)?;
    module.add_function(wrap_pyfunction!(rebuild::rebuild_indexes, module)?)?;
    module.add_class::<staging::StagedWriter>()?;
    module.add_function(wrap_pyfunction!(staging::place_staged, module)?)?;
    module.add_function(wrap_pyfunction!(staging::segment_end, module)?)?;
    module.add_function(wrap_pyfunction!(array::decode_array, module)?)?;
    module.add_function(wrap_pyfunction!(array::batch_info_array, module)?)?;
    module.add_function(wrap_pyfunction!(array::validate_array, module)?)?;
    module.add_function(wrap_pyfunction!(array::explode_array, module)?)?;
    module.add_function(wrap_pyfunction!(convert::convert, module)?)?;
    module.add_function(wrap_pyfunction!(convert::convert_array, module)?)?;
    module.add_function(wrap_pyfunction!(salvage::salvage, module)?)?;
    module.add_function(wrap_pyfunction!(broker::broker_append, module)?)?;
    module.add_function(wrap_pyfunction!(broker::broker_fetch, module)?)?;
    module.add_class::<lz4::Lz4Rewriter>()?;
    module.add_function(wrap_pyfunction!(lz4::lz4_header_checksum, module)?)?;
    module.add_function(wrap_pyfunction!(lz4::lz4_survey, module)?)?;
    module.add_function(wrap_pyfunction!(zstd_frame::unpack_zstd, module)?)?;
    module.add_function(wrap_pyfunction!(compat::compat_versions, module)?)?;
    module.add_function(wrap_pyfunction!(compat::compat_clients, module)?)?;
    module.add_function(wrap_pyfunction!(compat::compat_client, module)?)?;
    module.add_function(wrap_pyfunction!(compat::compat_errors, module)?)?;
    module.add_function(wrap_pyfunction!(compat::compat_verdict, module)?)?;
    module.add_function(wrap_pyfunction!(array::encode_array, module)?)?;
    Ok(())
}

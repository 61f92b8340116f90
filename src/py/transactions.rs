//! The transactions of a partition, as Python has them.

use pyo3::prelude::*;

use crate::decode::transactions as core;

/// Arguments of the constructor.
type TransactionsParts = (Vec<(i64, i64, i64)>, Option<i64>, Vec<(i64, i64, i64)>);

/// List the aborted, undecided and open transactions of a partition.
///
/// `scan_transactions` returns it, and `decode_array` takes it. It can be pickled.
///
/// Args:
///     aborted: list of (producerId, firstOffset, lastOffset), last offset inclusive.
///     last_stable_offset: first offset of the oldest open transaction, or None.
///     undecided: transactions with a marker that may be lost, up to the last offset before the damage. A committed read skips and
///         reports them (TRX-5).
///
/// Example:
///     >>> import logsegment as ls
///     >>> ls.Transactions([(7, 100, 120)]).aborted
///     [(7, 100, 120)]
#[pyclass(name = "Transactions", frozen, eq, from_py_object, module = "logsegment")]
#[derive(Clone, PartialEq)]
pub struct PyTransactions(pub core::Transactions);

#[pymethods]
impl PyTransactions {
    #[new]
    #[pyo3(signature = (aborted, last_stable_offset=None, undecided=Vec::new()), text_signature = "(aborted, last_stable_offset=None, undecided=())")]
    fn new(aborted: Vec<(i64, i64, i64)>, last_stable_offset: Option<i64>, undecided: Vec<(i64, i64, i64)>) -> Self {
        Self(core::Transactions::from_parts(aborted, undecided, last_stable_offset))
    }

    #[getter]
    fn aborted(&self) -> Vec<(i64, i64, i64)> {
        self.0.aborted()
    }

    #[getter]
    fn last_stable_offset(&self) -> Option<i64> {
        self.0.last_stable_offset()
    }

    #[getter]
    fn undecided(&self) -> Vec<(i64, i64, i64)> {
        self.0.undecided()
    }

    fn __repr__(&self) -> String {
        let stable = self.0.last_stable_offset().map_or_else(|| "None".to_owned(), |offset| offset.to_string());
        let undecided = self.0.undecided().len();
        let undecided = if undecided == 0 { String::new() } else { format!(", {undecided} undecided") };
        format!("Transactions({} aborted{undecided}, last_stable_offset={stable})", self.0.aborted().len())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, TransactionsParts) {
        let own = slf.get();
        (slf.get_type().into_any(), (own.aborted(), own.last_stable_offset(), own.undecided()))
    }
}

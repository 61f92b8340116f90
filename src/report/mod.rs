//! Arrow columns as people and programs read them: JSON lines, previews, counts, comparisons. Record batches go in; text, figures and
//! differences come out. Knows nothing of Python.

pub mod compare;
pub mod counting;
pub mod csv;
pub mod jsonl;
pub mod kafka_dump;
pub mod preview;

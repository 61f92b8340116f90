//! The columnar reader for Spark's JVM: the data of a task goes in, addresses of Arrow columns come out.
//!
//! Python plans a query and writes each task as bytes (`logsegment.spark.jvm.tasks`), which Java hands over unread. Only `jni` knows the
//! JVM's calling convention, and only integers cross it: handles, addresses, lengths.

mod columns;
mod error_text;
mod fields;
mod jni;
mod mode;
mod names;
mod note;
mod opening;
mod outputs;
mod part;
mod query;
mod reader;
mod rows;
mod share;
mod spark_types;
mod stored;
mod task;
mod uncut;
mod value_schemas;

//! The source for Spark's JVM: the options of a query go in, and tasks come out; the data of a task goes in, and addresses of Arrow columns
//! come out.
//!
//! `plan` writes each task as bytes, which Java hands over unread. Only `jni` knows the JVM's calling convention, and only integers cross it:
//! handles, addresses, lengths.

mod columns;
mod error_text;
mod fields;
mod jni;
mod names;
mod note;
mod opening;
mod outputs;
mod part;
mod plan;
mod plan_bytes;
mod plan_request;
mod plan_talk;
mod query;
mod questions;
mod reader;
mod rows;
mod share;
mod spark_schema;
mod spark_types;
mod stored;
mod task;
mod uncut;
mod value_schemas;

/// Takes the fields of a message as they are read.
///
/// What is opened is closed, unless reading fails: then `back_to` forgets what came since a mark.
pub trait Visitor {
    /// A struct begins: names and values follow.
    fn open_struct(&mut self);
    /// It ends.
    fn close_struct(&mut self);
    /// An array begins: values follow.
    fn open_array(&mut self);
    /// It ends.
    fn close_array(&mut self);
    /// The name of the value that follows.
    fn name(&mut self, name: &'static str);
    /// A value without parts.
    fn scalar(&mut self, scalar: Scalar<'_>);
    /// Where it is now.
    fn mark(&self) -> usize;
    /// Forgets what came since then.
    fn back_to(&mut self, mark: usize);
}

/// A value without parts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names of Kafka's types")]
pub enum Scalar<'a> {
    Null,
    Bool(bool),
    Number(i64),
    Float(f64),
    Uuid([u8; 16]),
    Text(&'a str),
    Bytes(&'a [u8]),
}

//! Why an item cannot be written with its schema.

use std::fmt;

/// What does not fit, and the fields on the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The innermost field first.
    path: Vec<Box<str>>,
    problem: Box<str>,
}

/// The result of writing an item.
pub type WriteResult = Result<(), Box<Misfit>>;

/// What does not fit.
#[cold]
pub fn misfit(problem: impl Into<String>) -> Box<Misfit> {
    Box::new(Misfit { path: Vec::new(), problem: problem.into().into() })
}

impl Misfit {
    /// The same inside of a field.
    #[cold]
    #[must_use]
    pub fn inside(mut self: Box<Self>, field: &str) -> Box<Self> {
        self.path.push(field.into());
        self
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, field) in self.path.iter().rev().enumerate() {
            f.write_str(if index > 0 { "." } else { "" })?;
            f.write_str(field)?;
        }
        f.write_str(if self.path.is_empty() { "" } else { ": " })?;
        f.write_str(&self.problem)
    }
}

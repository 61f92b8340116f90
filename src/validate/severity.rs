/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing: a torn or zero tail, a record of a type that no table has.
    Info,
    /// Readable, but it breaks a rule.
    Warning,
    /// `decode` fails here.
    Error,
}

impl Severity {
    /// `"info"`, `"warning"` or `"error"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

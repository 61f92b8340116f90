//! What the tasks of a query share.

use arrow_schema::SchemaRef;

use crate::columns::StreamOptions;
use crate::jvm::mode::Mode;
use crate::jvm::outputs::Outputs;
use crate::values::TypedOptions;

/// What the tasks of a query share.
pub struct Query {
    /// What follows an error about damage: the option that skips it.
    pub hint: String,
    /// How records are decoded.
    pub options: StreamOptions,
    /// What to do at damage.
    pub mode: Mode,
    /// A file that is gone or was cut ends the query.
    pub fails_on_data_loss: bool,
    /// The columns that Spark gets.
    pub outputs: Outputs,
    /// How keys and values are decoded, if the columns need it.
    pub typed: Option<TypedOptions>,
    /// The columns that are decoded.
    pub schema: SchemaRef,
}

impl Query {
    /// True if the read continues after damage.
    pub fn skips_damage(&self) -> bool {
        self.mode != Mode::Fail
    }
}

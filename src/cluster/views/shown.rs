//! How tables show paths.

use std::path::Path;

/// Shows a path to people.
pub(super) type Shown<'a> = &'a dyn Fn(&Path) -> String;

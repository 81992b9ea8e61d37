//! The headings of options in the help, besides the common ones.

pub const SLOW: &str = "When nodes are slow or fail";
pub const SAFETY: &str = "Safety";
pub const MORE: &str = "Other kinds of copies";
pub const TUNING: &str = "Tuning";

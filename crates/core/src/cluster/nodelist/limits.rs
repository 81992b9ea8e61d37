//! The limits of node lists.

/// The maximum number of names in a list, including those that it excludes again: far beyond any
/// cluster, and small enough that a typo (`n[1-99999999]`) can't exhaust memory.
pub const MOST_NAMES: usize = 1_000_000;

/// The maximum length of a node name in bytes: a host name has at most 253 (RFC 1035, 2.3.4), and
/// there is room for `lab:`.
pub const LONGEST_NAME: usize = 260;

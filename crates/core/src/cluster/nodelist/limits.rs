//! The limits of node lists.

/// The maximum number of names in a list, including excluded ones: far beyond any cluster, and
/// small enough that a typing error (`n[1-99999999]`) cannot exhaust memory.
pub const MOST_NAMES: usize = 1_000_000;

/// The maximum length of a node name in bytes. A host name has at most 253 (RFC 1035, 2.3.4); the
/// rest is for a prefix such as `lab:`.
pub const LONGEST_NAME: usize = 260;

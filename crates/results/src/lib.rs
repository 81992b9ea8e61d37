//! Results of commands: values that are printed, stored as JSON in the directory of a run, and read
//! back.
//!
//! - kinds: [`copy`], [`tree`], [`checksums`], [`explain`], [`standing`], with fields of [`head`],
//! - reading them back: [`kept`], [`listed`], [`wires_baseline`].
//!
//! # Where to change what
//!
//! - `copy` has the result of a copy and what is printed of it; `explain/table.rs` prints an
//!   explanation (when the line `disk` appears: `analysis/src/ledger/disks.rs`), `words.rs` has
//!   places and shares in words. A new field of a result has `serde(default)`, so that older ones
//!   can be read, and goes into docs/results.md and `cli/tests/local/results.rs`.

#![forbid(unsafe_code)]

pub mod checksums;
pub mod copy;
pub mod copy_outcome;
pub mod explain;
pub mod head;
pub mod kept;
pub mod left_out;
pub mod limit;
pub mod listed;
pub mod names;
pub mod path;
pub mod spool;
pub mod standing;
pub mod tcp_account;
pub mod tree;
pub mod wires_baseline;

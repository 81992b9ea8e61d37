//! Trees of files as a copy's source: what is there is looked at first, and fixes the stream; then
//! the stream is read like any file. The engine knows nothing of it.
//!
//! Memory: 56 bytes and a record (its name and some 30 bytes) for each file, folder or link, on this
//! machine only; twice that while it looks. Nodes keep none of it.

mod catalogue;
mod index;
mod left_out;
mod making;
mod place;
mod reading;
mod scan;
mod source;
mod walk;

pub use catalogue::{Catalogue, Gathered};
pub use index::{Body, Index, Stamp};
pub use left_out::LeftOut;
pub use making::make;
pub use place::{Opener, Place};
pub use reading::Reading;
pub use scan::{ScanError, ScanOptions, Tally, name_of};
pub use source::TreeSource;

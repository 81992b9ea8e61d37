//! Trees of files as the source of a copy. A scan determines the stream, which is then read like a
//! file: lanes do not distinguish the two.
//!
//! Memory: 56 bytes and a record (its name and some 30 bytes) per file, directory or link, on this
//! machine only; twice that during the scan. Nodes keep none of it.

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
pub use place::{Opener, Place, open_directory, open_file};
pub use reading::Reading;
pub use scan::{ScanError, ScanOptions, Tally};
pub use source::TreeSource;
pub use walk::name_of;

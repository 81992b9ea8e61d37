//! Trees of files as the source of a copy. A scan determines the stream, which is then read like a
//! file: lanes do not distinguish the two.
//!
//! For each file, directory or link the source keeps 64 bytes and a record in memory; a record
//! takes some 30 bytes and the name. During the scan it needs twice as much. Nodes need no such
//! memory, unless parts of the tree are in place there.

mod asked;
mod catalogue;
mod chosen;
mod expansion;
mod index;
mod left_out;
mod making;
mod objects;
mod place;
mod reading;
mod remainder;
mod scan;
mod source;
mod walk;

pub use asked::Sources;
pub use catalogue::{Gathered, unpack};
pub use chosen::Chosen;
pub use index::{Body, Index, Stamp};
pub use left_out::{LeftOut, sum_absence};
pub use making::make;
pub use objects::{ObjectFile, Objects, Unread};
pub use place::{Mounts, Opener, Place, open_directory, open_file, record_of};
pub use reading::{Reading, WrittenFile};
pub use scan::{ScanError, ScanOptions, Tally};
pub use source::TreeSource;
pub use walk::name_of;

//! A mount: the files of all nodes below one directory, by FUSE. The mount has connections of its
//! own to the nodes' agents. How agents are started is up to the caller.
//!
//! # Where to change what
//!
//! - A call of the kernel begins in `fs/calls`, and is in `fs/names`, `fs/files`, `fs/reading` or
//!   `fs/writing`; what is kept of a file is in `fs/inode`.
//! - How much is read ahead and written behind: `fs/ahead`, `fs/behind`, `fs/window`.
//! - When a node counts as lost, and what its callers get: `peer/watch`, `peer/unanswered`.

mod fs;
mod mounting;
mod node_file;
mod peer;
mod recording;

pub use fs::{Account, NodeAccount, STATUS_NAME};
pub use mounting::{Ended, MountError, MountJob, Mounted, Served, mount, unmount};
pub use node_file::{NodeFileError, NodeFiles, WantedBlock};
pub use peer::Reach;

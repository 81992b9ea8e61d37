//! A mount: the files of all nodes below one directory, by FUSE. The mount has connections of its
//! own to the nodes' agents. How agents are started is up to the caller.

mod fs;
mod mounting;
mod node_file;
mod peer;
mod recording;

pub use fs::{Account, NodeAccount, STATUS_NAME};
pub use mounting::{Ended, MountError, MountJob, Mounted, Served, mount, unmount};
pub use node_file::{NodeFileError, NodeFiles, WantedBlock};
pub use peer::Reach;

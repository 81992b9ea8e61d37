//! A mount: any node's files under one directory, over FUSE. It asks the nodes' agents over connections
//! of its own, and knows nothing of how agents are started.

mod fs;
mod mounting;
mod peer;
mod recording;

pub use fs::{Account, NodeAccount, STATUS_NAME};
pub use mounting::{Ended, MountError, MountJob, Mounted, Served, mount, unmount};
pub use peer::Reach;

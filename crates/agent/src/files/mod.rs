//! The agent's side of mounts: it serves requests on this node's files, as its own user and within
//! its root. Connections come from the listener, like the links of a copy.

mod attr;
mod change;
mod handles;
mod job_folders;
mod link;
mod listener;
mod listing;
mod mounts;
mod places;
mod service;
mod verified;

pub use job_folders::JobFolders;
pub use listener::FileListener;
pub use mounts::Mounts;

//! The agent's side of mounts: it obeys what they ask about this node's files, as the user that it
//! runs as and within its root. Connections come in by the listener, like a copy's links.

mod attr;
mod change;
mod handles;
mod link;
mod listener;
mod listing;
mod places;
mod service;

pub use listener::{FileListener, Mounts, greet};

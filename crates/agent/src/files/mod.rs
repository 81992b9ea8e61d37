//! The agent's side of mounts: it obeys what they ask about this node's files, as the user that it
//! runs as and within its root. Connections come in by the listener, like a copy's links.

mod attr;
mod change;
mod door;
mod handles;
mod link;
mod listing;
mod obey;
mod places;

pub use door::{FileListener, Mounts, greet};

//! Starts agents over the system's ssh, with the user's own configuration and keys.

mod complaint;
mod login;
mod processes;
mod shown;

pub use login::Logins;
pub use processes::{FoundProcesses, ProcessAction, on_node};

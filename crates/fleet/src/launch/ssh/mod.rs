//! Starts agents over the system's ssh, with the user's own configuration and keys.

mod bridge;
mod complaint;
mod login;
mod processes;
mod shown;

pub use bridge::{Bridge, Login, pass_on_rest};
pub use login::Logins;
pub use processes::{FoundProcesses, ProcessAction, on_node};

//! Starts agents over the system's ssh, with the user's own configuration and keys.

mod complaint;
mod login;

pub use login::Logins;

//! Starts agents: on this machine, in a lab, over ssh, and in a Slurm allocation.

mod answers;
mod binary;
mod bootstrap;
mod cancellation;
mod child;
mod error;
mod input;
pub mod lab;
pub mod launchers;
pub mod local;
mod messages;
mod orders;
pub mod resolve;
mod slurm;
mod spread;
mod ssh;
mod stdout;

pub use garland_sys::clock::after;

pub use answers::{Answers, SilentLogins};
pub use binary::own_binary;
pub use cancellation::Cancellation;
pub use child::{
    Answered, END_TIMEOUT, INTERRUPTED_END_TIMEOUT, LaunchedChild, REAP_TIMEOUT, StartTerms,
    Starting, log_name,
};
pub use error::{LaunchError, cannot};
pub use orders::{Doors, LaunchResult, Launched, Orders, Serves, Trace};
pub use ssh::{Bridge, FoundProcesses, Login, ProcessAction, on_node, pass_on_rest};

//! Starting agents: on this machine, in a lab, over ssh, in a Slurm allocation.

mod binary;
mod bootstrap;
mod child;
mod input;
pub mod lab;
pub mod local;
mod orders;
pub mod resolve;
mod slurm;
mod spread;
mod ssh;
mod stdout;
mod ways;
mod will;

pub use binary::own_binary;
pub use child::{FAREWELL, HURRY, LaunchedChild, REAPING, Starting, after};
pub use orders::{Launched, Orders};
pub use ways::Ways;
pub use will::Will;

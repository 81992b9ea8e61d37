//! The arguments of the commands, as the user typed them.

mod exec;
mod explain;
mod forecast;
mod lab;
mod mount;
mod net;
mod report;
mod runs;
mod standing;
mod top;
mod trace;
mod words;

pub use exec::Exec;
pub use explain::Explain;
pub use forecast::{Forecast, PlanCommand, PlanName, PlanSuggest};
pub use lab::{LabCommand, What};
pub use mount::Mount;
pub use net::{NetCommand, NetConfig, NetShow, NetSize, NetVerify};
pub use report::Report;
pub use runs::{Runs, RunsCommand};
pub use standing::{Down, KeyCommand, KeyRotate, Standing, Up};
pub use top::Top;
pub use trace::{TraceCommand, TraceExport};
pub use words::words;

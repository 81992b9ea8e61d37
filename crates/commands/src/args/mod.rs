//! The words of commands, as the user typed them: each group is a request.

mod checks;
mod copy;
mod explain;
mod forecast;
mod lab;
mod mount;
mod net;
mod report;
mod standing;
mod top;
mod trace;

pub use copy::{CompressName, Cp, Exec, ShapeName, SlowName};
pub use explain::Explain;
pub use forecast::{Forecast, Plan, PlanCommand, PlanName, PlanSuggest};
pub use lab::{Lab, LabCommand, What};
pub use mount::Mount;
pub use net::{FormatName, Net, NetCommand, NetConfig, NetShow, NetSize, NetVerify};
pub use report::Report;
pub use standing::{Agent, Down, Standing, Up};
pub use top::Top;
pub use trace::{ExportFormat, Trace, TraceCommand, TraceExport};

/// The environment variable that says how many traces are kept.
pub const TRACES_VARIABLE: &str = "GARLAND_KEEP_TRACES";

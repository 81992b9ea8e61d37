//! The arguments of the commands, as the user typed them.

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

/// The environment variable with the number of traces to keep.
pub const TRACES_VARIABLE: &str = "GARLAND_KEEP_TRACES";

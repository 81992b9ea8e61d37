//! The arguments that the figures of a run depend on.

use clap::Args as ClapArgs;

use crate::result::Unit;

/// What the figures of a farm's run go by.
#[derive(Clone, Debug, ClapArgs)]
pub struct FarmAccount {
    /// What the nodes' power is counted in: MHz, cores, or what a core of the first node has, such as
    /// 300MHz [default: MHz where all nodes tell their clock, else cores].
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<Unit>,
    /// A run of the same jobs on one machine, which the cluster is compared with [default: what that would
    /// take by the jobs' processor time].
    #[arg(long, value_name = "RUN")]
    pub base: Option<String>,
    /// What all of it costs [default: in a lab by its topology file].
    #[arg(long, value_name = "AMOUNT")]
    pub price: Option<f64>,
}

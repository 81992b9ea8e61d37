//! The options for the figures of a run.

use clap::Args as ClapArgs;

use crate::result::Unit;

/// The options for the figures of a farm run.
#[derive(Clone, Debug, ClapArgs)]
pub struct FarmAccount {
    /// Unit of the nodes' processor power: MHz, cores, or the power of a core of the first node,
    /// such as 300MHz [default: MHz if the clocks of all nodes are known, else cores].
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<Unit>,
    /// A run of the same jobs on one machine, with which the cluster is compared [default: an
    /// estimate from the jobs' CPU time].
    #[arg(long, value_name = "RUN")]
    pub base: Option<String>,
    /// Price of the cluster [default: in a lab, that of its topology file].
    #[arg(long, value_name = "AMOUNT")]
    pub price: Option<f64>,
}

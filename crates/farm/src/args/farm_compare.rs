//! The arguments of `garland farm compare`.

use clap::Args as ClapArgs;

/// `garland farm compare`.
#[derive(Debug, ClapArgs)]
#[command(after_help = COMPARE_HELP)]
pub struct FarmCompare {
    /// Names of the runs, or paths of their directories.
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    pub runs: Vec<String>,
    /// The base run, whose time is 100 % [default: the first].
    #[arg(long, value_name = "RUN")]
    pub base: Option<String>,
    /// Price of a run's cluster [default: in a lab, that of its topology file].
    #[arg(long, value_name = "RUN=AMOUNT")]
    pub price: Vec<String>,
}

const COMPARE_HELP: &str = "\
The runs must have the same number of jobs, and should be of the same jobs. Runs are ranked by time, and
by the price per unit of power if the price is known. Each line is labelled with the properties in which
the runs differ: the network, the engine, the placement, how jobs get their files.";

//! The arguments of `garland farm compare`.

use clap::Args as ClapArgs;

/// `garland farm compare`.
#[derive(Debug, ClapArgs)]
#[command(after_help = COMPARE_HELP)]
pub struct FarmCompare {
    /// The runs: names, or paths of their directories.
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    pub runs: Vec<String>,
    /// The run that is 100 % [default: the first].
    #[arg(long, value_name = "RUN")]
    pub base: Option<String>,
    /// What a run's cluster costs; in a lab the topology file's prices count.
    #[arg(long, value_name = "RUN=AMOUNT")]
    pub price: Vec<String>,
}

const COMPARE_HELP: &str = "\
The runs must be of equally many jobs, and should be of the same. Each is ranked by its time and, where
its price is known, by what a unit of its power costs. A line is named by what tells it from the others:
the network, the engine, the placement, how files came to the jobs.";

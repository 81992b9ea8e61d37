//! An experiment of any kind, and its table.

use std::fmt;

use garland_results::head::Phases;
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use super::claim::Claim;
use super::judged::Account;
use super::predicted::Prediction;
use super::sections::Kind;
use super::stage::Stage;
use super::{balance, broadcast, copy, farm, moves, pairs, ping, placements, scaling, stripes};

/// The part of a file that names the kind of experiment.
#[derive(Deserialize)]
struct Kinds {
    job: KindOfJob,
}

#[derive(Deserialize)]
struct KindOfJob {
    kind: Kind,
}

/// Defines `Experiment` and `Table` from one line per kind: its name, its module (with a type
/// `Table`), and the type of the sections of its file.
macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident: $module:ident::$sections:ident,)*) => {
        /// An experiment, as the sections of its file describe it.
        #[derive(Clone, Debug, Serialize)]
        #[serde(untagged)]
        pub enum Experiment {
            $($(#[$about])* $kind(Box<$module::$sections>),)*
        }

        impl Experiment {
            /// Parses the sections of an experiment; `text` is the contents of the scenario file
            /// `path`.
            pub fn parse(text: &str, path: &str) -> Result<Self, Failure> {
                let wrong = |error: toml::de::Error| Failure::usage(format!("{path}: {error}"));
                let kinds: Kinds = toml::from_str(text).map_err(wrong)?;
                match kinds.job.kind {
                    $(Kind::$kind => toml::from_str(text).map(Self::$kind),)*
                }
                .map_err(wrong)
            }

            /// Checks that the experiment can run in these topologies.
            pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
                match self {
                    $(Self::$kind(one) => one.check(topologies),)*
                }
            }

            /// Returns what the file of the scenario `name` says about published statements.
            pub fn account<'a>(&'a self, name: &'a str) -> Account<'a> {
                match self {
                    $(Self::$kind(one) => one.account(name),)*
                }
            }

            /// Runs the experiment once, and records its phases in `phases`.
            pub fn run(&self, stage: &Stage<'_>, phases: &mut Phases) -> Result<Table, Failure> {
                match self {
                    $(Self::$kind(one) => one.run(stage, phases).map(Box::new).map(Table::$kind),)*
                }
            }
        }

        /// The result of an experiment of any kind.
        #[derive(Clone, Debug, Serialize)]
        #[serde(untagged)]
        pub enum Table {
            $(#[doc = concat!("The table of [`Experiment::", stringify!($kind), "`].")]
            $kind(Box<$module::Table>),)*
        }

        impl Table {
            /// Returns the predicted figures, each with the figure measured in the lab.
            pub fn predictions(&self) -> Vec<Prediction> {
                match self {
                    $(Self::$kind(table) => table.predictions(),)*
                }
            }

            /// Returns what these figures were predicted from, and where each input came from.
            pub fn predicted_from(&self) -> Vec<String> {
                match self {
                    $(Self::$kind(table) => table.predicted_from(),)*
                }
            }

            /// Returns what was measured of each quantity that statements are about. Tables of one
            /// experiment return them in one order.
            pub fn claims(&self) -> Vec<Claim> {
                match self {
                    $(Self::$kind(table) => table.claims(),)*
                }
            }

            /// Describes the first result that is wrong, whatever was published, such as a copy
            /// that differs from its source; `None` if there is none.
            pub fn broken(&self) -> Option<String> {
                match self {
                    $(Self::$kind(table) => table.broken(),)*
                }
            }
        }

        impl fmt::Display for Table {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$kind(table) => table.fmt(f),)*
                }
            }
        }
    };
}

kinds! {
    /// Copies within and between pairs of nodes, over several topologies.
    Balance: balance::Balance,
    /// Copies of a file to several nodes, by several tools.
    Broadcast: broadcast::Broadcast,
    /// Copies of a file to one node, over several topologies.
    Copy: copy::CopyExperiment,
    /// Many jobs on a few nodes, over several topologies.
    Farm: farm::Farm,
    /// Equal jobs that stay or move, with a node that gets slow.
    Moves: moves::Moves,
    /// Several copies at once between pairs of nodes, over several topologies.
    Pairs: pairs::Pairs,
    /// Small gets between two nodes.
    Ping: ping::Ping,
    /// One list of jobs on nodes of unequal speed, with several placements.
    Placements: placements::Placements,
    /// One list of jobs on growing numbers of nodes, with forecasts from the small numbers.
    Scaling: scaling::Scaling,
    /// Copies of a file to one server in operations, with injected pauses that `garland explain`
    /// must find.
    Stripes: stripes::Stripes,
}

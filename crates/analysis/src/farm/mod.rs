//! Figures of job runs: the table that compared topologies in 2004 (R. Premoli, openMosix cluster
//! against network topology), and the attribution of the lost power. All inputs are in seconds;
//! texts and tables are made elsewhere.

mod bar;
mod losses;
mod rank;
mod rounds;
mod slowdown;
mod spread;
mod standing;
mod task;
#[cfg(test)]
mod tests;

pub use bar::{BAR, bar};
pub use losses::{Files, Loss, Losses, losses};
pub use rank::{Candidate, Rank, rank};
pub use rounds::{fluid, rounds};
pub use slowdown::slowdown;
pub use spread::{Spread, spread};
pub use standing::{Power, Standing, standing};
pub use task::{Task, Worker};

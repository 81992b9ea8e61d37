//! The arguments of `garland farm`.

mod farm;
mod farm_account;
mod farm_compare;

pub use farm::{DataName, EngineName, Farm, FarmCommand, FarmRun, FarmWork, PlacementName, word};
pub use farm_account::FarmAccount;
pub use farm_compare::FarmCompare;

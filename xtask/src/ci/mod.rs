//! The steps of `make test`: installation, checks, tests, and the check for what tests leave
//! behind.

mod bugs;
mod client;
mod leftovers;
mod python;
mod scenarios;
mod soak;
mod sources;
mod steps;
mod suites;
mod tools;

pub(crate) use bugs::bugs;
pub(crate) use leftovers::remove_temporary;
pub(crate) use scenarios::scenarios;
pub(crate) use soak::{
    soak, soak_faults, soak_healthy, soak_hostile, soak_mounts, soak_rsync, soak_spool, truth,
    truth_suggest,
};
pub(crate) use steps::{check, setup, test};

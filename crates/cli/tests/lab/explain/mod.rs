//! `garland explain`: faults that were put into copies are found, healthy copies have none, and
//! what can't be read is told.

mod cases;
mod clocks;
mod faults;
mod healthy;
mod runs;
mod show;
mod stage;

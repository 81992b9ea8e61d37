//! `garland cp` in a lab where nodes die, hang, lose their wires, and where bytes change on the
//! way. `make soak` runs the same tests with twenty nodes and a file of up to a gigabyte.

mod bystanders;
mod deaths;
mod endings;
mod flips;
mod queue;
mod rootless;
mod scale;
mod sharing;
mod stage;

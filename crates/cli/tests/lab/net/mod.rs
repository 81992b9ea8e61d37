//! `garland net` with the real tools, each test in a network and file system of its own.

mod applied;
mod daemons;
mod print;
mod shape;
mod stage;
mod truth;

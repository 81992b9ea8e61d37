//! `garland net` with the real tools, each test in a network and file system of its own.

mod applied;
mod install;
mod print;
mod stage;
mod truth;

//! `garland mount` end to end: the kernel's FUSE, agents on this machine and in a lab, and programs
//! that know nothing of either.

mod deaths;
mod endings;
mod exercise;
mod lab;
mod posix;
mod programs;
mod refusals;
mod small;
mod stage;
mod suites;
mod trace;
mod writers;

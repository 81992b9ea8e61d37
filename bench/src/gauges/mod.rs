//! Tools that measure between two nodes, one per file.

mod duet;
mod fi_pingpong;
mod garland;
mod iperf3;
mod netpipe;
mod qperf;
mod sockperf;
mod ucx;

pub(super) use duet::{Agents, cpus};
pub(super) use fi_pingpong::PINGPONG;
pub(super) use garland::{Ping, Wires};
pub(super) use iperf3::Iperf3;
pub(super) use netpipe::Netpipe;
pub(super) use qperf::QPERF;
pub(super) use sockperf::Sockperf;
pub(super) use ucx::Ucx;

/// Bytes of a message, as an argument of tools.
const SIZE: &str = "8";

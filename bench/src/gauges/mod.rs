//! Tools that measure between two nodes, one per file.

mod duet;
mod fi_pingpong;
mod garland;
mod iperf3;
mod netpipe;
mod qperf;
mod sockperf;
mod ucx;

pub(super) use duet::{Pair, cpus};
pub(super) use fi_pingpong::PINGPONG;
pub(super) use garland::{BLOCKING, GETS, POLLING, PUTS, SHARED, WIRES, WIRES_OF_4};
pub(super) use iperf3::{IPERF3, IPERF3_OF_4};
pub(super) use netpipe::NETPIPE;
pub(super) use qperf::QPERF;
pub(super) use sockperf::{SOCKPERF, SOCKPERF_POLLING};
pub(super) use ucx::{
    AM_TCP, CMA_LATENCY, GET_TCP, POSIX_LATENCY, POSIX_RATE, SYSV_LATENCY, SYSV_RATE,
};

/// Bytes of a message, as an argument of tools.
const SIZE: &str = "8";

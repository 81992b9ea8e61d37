//! The tasks that agents carry out to measure a pair.

use std::time::Duration;

use garland_analysis::pairs::MatchUp;

use super::super::meetings::Pair;
use crate::measure::{
    PingKind, PingPoint, PingTask, PingTransport, PingWait, StreamTask, TargetState, Task,
};

/// The size of each write in bytes.
const WRITE: u32 = 128 << 10;

/// Returns a measurement between a pair of nodes: `streams` connections from the first to the
/// second node's address on `rail`.
pub fn meeting(pair: MatchUp, rail: usize, streams: u16, task: &Task) -> Pair {
    Pair {
        from: pair.one,
        to: pair.other,
        rail,
        streams,
        limit: Duration::from_secs(3),
        pin: None,
        task: task.clone(),
    }
}

/// Returns a task that sends bytes as fast as possible. On `forward` of the connections, the
/// connecting node sends; on the others, the accepting node does.
pub fn streams(forward: u16, warm_up_ms: u32, least_ms: u32, most_ms: u32) -> Task {
    Task::Stream(StreamTask { forward, write: WRITE, packet: None, warm_up_ms, least_ms, most_ms })
}

/// Returns a task of one stream in packets of `bytes` bytes. It takes 0.4 s at any rate, so that
/// slow wires are measured accurately and all pairs end at the same time.
pub fn packets(bytes: u16) -> Task {
    let packet = Some(bytes);
    let warm_up_ms = 100;
    let least_ms = 400;
    let most_ms = 400;
    Task::Stream(StreamTask { forward: 1, write: WRITE, packet, warm_up_ms, least_ms, most_ms })
}

/// Returns a task of up to 100 round trips of 8 bytes, within 0.1 s.
pub fn ping() -> Task {
    let point = PingPoint {
        kind: PingKind::Msg,
        size: 8,
        depth: 1,
        rate: None,
        count: Some(100),
        time_ms: 100,
    };
    Task::Ping(PingTask {
        provider: None,
        means: PingTransport::Tcp,
        wait: PingWait::Block,
        target: TargetState::Asleep,
        points: vec![point],
    })
}

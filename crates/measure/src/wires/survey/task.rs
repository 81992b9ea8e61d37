//! What agents are asked to measure.

use std::time::Duration;

use garland_analysis::pairs::MatchUp;
use garland_control::Pair;
use garland_protocol::{
    PingKind, PingPoint, PingTask, PingTransport, PingWait, StreamTask, TargetState, Task,
};

/// Bytes of one write.
const WRITE: u32 = 128 << 10;

/// `streams` connections of two nodes, by the second one's address on `rail`.
pub fn meeting((from, to): MatchUp, rail: usize, streams: u16, task: &Task) -> Pair {
    let limit = Duration::from_secs(3);
    Pair { from, to, rail, streams, limit, pin: None, task: task.clone() }
}

/// Bytes as fast as they go: by so many of the connections forward, by the others back.
pub fn streams(forward: u16, warm_up_ms: u32, least_ms: u32, most_ms: u32) -> Task {
    Task::Stream(StreamTask { forward, write: WRITE, packet: None, warm_up_ms, least_ms, most_ms })
}

/// One stream forward in packets of `bytes` bytes. It lasts 0.4 s whatever the rate, so that slow wires
/// are measured well enough and no pair goes on alone when the others have ended.
pub fn packets(bytes: u16) -> Task {
    let packet = Some(bytes);
    let (warm_up_ms, least_ms, most_ms) = (100, 400, 400);
    Task::Stream(StreamTask { forward: 1, write: WRITE, packet, warm_up_ms, least_ms, most_ms })
}

/// Messages of 8 bytes there and back.
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

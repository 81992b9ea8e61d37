//! The request of `garland ping`.

use garland_core::units::bytes;
use garland_protocol::measure::{
    PING_DEPTH_MAX, PING_POINTS_MAX, PING_SIZE_MAX, PingKind, PingPoint, PingTask, PingTransport,
    PingWait, TargetState, check_provider,
};
use garland_terminal::failure::Failure;

use crate::args::{Ping, PingFunction, PingTarget, PingTransportName, PingWaiting};

/// The default size of an operation in bytes.
const SIZE: u32 = 8;

/// The largest depth of a sweep.
const SWEEP_DEPTH: u32 = 64;

/// The largest size of a sweep in bytes.
const SWEEP_SIZE: u32 = 64 << 10;

/// The default depth with --per-second.
const RATED_DEPTH: u32 = 64;

/// A request of `garland ping`, with valid values.
pub struct PingRequest {
    /// The task that every pair performs.
    pub task: PingTask,
    /// For a sweep, the number of points that vary the depth; they come before those that vary the
    /// size. None without a sweep.
    pub depths: Option<usize>,
    /// The CPU of the first node's agent, and that of each other agent; none without --pin.
    pub pin: Option<(u16, u16)>,
}

/// Checks the arguments and converts them to a request.
pub fn read(ping: &Ping) -> Result<PingRequest, Failure> {
    let means = match ping.transport {
        PingTransportName::Tcp => PingTransport::Tcp,
        PingTransportName::Shm => PingTransport::Shm,
        PingTransportName::Fabric => PingTransport::Fabric,
    };
    if let Some(provider) = &ping.provider {
        check_provider(provider).map_err(|why| Failure::usage(format!("--provider: {why}")))?;
        if means != PingTransport::Fabric {
            return Err(Failure::usage(format!("--provider {provider} needs --transport fabric"))
                .hint("add --transport fabric"));
        }
    }
    let kind = match ping.function {
        PingFunction::Get => PingKind::Get,
        PingFunction::Put => PingKind::Put,
        PingFunction::Msg => PingKind::Msg,
    };
    if means == PingTransport::Shm && kind != PingKind::Msg && ping.per_second.is_some() {
        return Err(Failure::usage(
            "--per-second does not apply to gets and puts of shared memory",
        )
        .hint("use -f msg, or --transport tcp"));
    }
    let wait = match ping.wait {
        PingWaiting::Block => PingWait::Block,
        PingWaiting::Poll => PingWait::Poll,
    };
    let target = match (ping.target, wait) {
        (Some(PingTarget::Idle), _) | (None, PingWait::Poll) => TargetState::Idle,
        (Some(PingTarget::Asleep), _) | (None, PingWait::Block) => TargetState::Asleep,
        (Some(PingTarget::Busy), _) => TargetState::Busy,
    };
    if !(0.001..=600.0).contains(&ping.time.as_secs_f64()) {
        return Err(Failure::usage(format!(
            "--time {}: the time must be from 0.001 to 600 s",
            ping.time
        )));
    }
    let time_ms = (ping.time.0 / 1_000_000) as u32;
    let point = |size, depth| PingPoint {
        kind,
        size,
        depth,
        rate: ping.per_second,
        count: ping.count,
        time_ms,
    };
    let sizes = parse_sizes(ping)?;
    let (points, depths) = if ping.sweep {
        let depths = doublings(1, SWEEP_DEPTH);
        let count = depths.len();
        let [size] = sizes[..] else {
            return Err(Failure::usage("--sweep chooses its own sizes: give at most one size"));
        };
        let lengths = doublings(SIZE, SWEEP_SIZE).into_iter().map(|size| point(size, 1));
        (depths.into_iter().map(|depth| point(size, depth)).chain(lengths).collect(), Some(count))
    } else {
        let depths = parse_depths(ping)?;
        let all = sizes.iter().flat_map(|&size| depths.iter().map(move |&depth| (size, depth)));
        (all.map(|(size, depth)| point(size, depth)).collect::<Vec<_>>(), None)
    };
    if points.len() > PING_POINTS_MAX {
        return Err(Failure::usage("too many combinations of sizes and depths: choose fewer"));
    }
    let pin = ping.pin.as_deref().map(pin).transpose()?;
    let provider = ping.provider.clone();
    Ok(PingRequest { task: PingTask { means, provider, wait, target, points }, depths, pin })
}

fn parse_sizes(ping: &Ping) -> Result<Vec<u32>, Failure> {
    let size = |text: &str| {
        let bytes = bytes::parse(text)?;
        u32::try_from(bytes).ok().filter(|&bytes| bytes <= PING_SIZE_MAX).ok_or_else(|| {
            let most = bytes::format(u64::from(PING_SIZE_MAX));
            Failure::usage(format!("operation size {text} is too large: at most {most} is allowed"))
        })
    };
    let min = ping.min.as_deref().map(size).transpose()?.unwrap_or(SIZE);
    let max = ping.max.as_deref().map(size).transpose()?.unwrap_or(min);
    if max < min {
        return Err(Failure::usage(format!("the smallest size {min} is above the largest {max}")));
    }
    // As in pgping, size 0 is followed by 4 bytes.
    Ok(match min {
        0 if max == 0 => vec![0],
        0 => std::iter::once(0).chain(doublings(4.min(max), max)).collect(),
        min => doublings(min, max),
    })
}

fn parse_depths(ping: &Ping) -> Result<Vec<u32>, Failure> {
    let Some(text) = &ping.in_flight else {
        return Ok(vec![if ping.per_second.is_some() { RATED_DEPTH } else { 1 }]);
    };
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let depth = |text: &str| text.parse().ok().filter(|depth| (1..=PING_DEPTH_MAX).contains(depth));
    match (depth(from), depth(to)) {
        (Some(from), Some(to)) if from <= to => Ok(doublings(from, to)),
        _ => Err(Failure::usage(format!(
            "-b {text}: must be N or N..M, with numbers from 1 to {PING_DEPTH_MAX}"
        ))),
    }
}

fn pin(text: &str) -> Result<(u16, u16), Failure> {
    let pair = text.split_once(',');
    let pair = pair.and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    pair.ok_or_else(|| {
        Failure::usage(format!(
            "--pin {text}: not two CPU numbers (first node, other nodes), such as 2,3"
        ))
    })
}

/// Returns `min` and its doublings below `max`, followed by `max`.
fn doublings(min: u32, max: u32) -> Vec<u32> {
    let below = std::iter::successors(Some(min), |size| size.checked_mul(2));
    below.take_while(|&size| size < max).chain([max]).collect()
}

#[cfg(test)]
mod tests {
    use crate::ping::request::doublings;

    #[test]
    fn doublings_end_with_the_maximum() {
        assert_eq!(doublings(1, 8), [1, 2, 4, 8]);
        assert_eq!(doublings(3, 10), [3, 6, 10]);
        assert_eq!(doublings(5, 5), [5]);
    }
}

//! The figures of a node, from two samples of its counters.

use garland_protocol::measure::{CopyView, KernelCounts, LaneView, NodeView, Waits};

/// The activity of a node between two samples; rates are per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// All NICs except the loopback device.
    pub nics: Vec<Nic>,
    /// The share of the processors' time that was used, from 0 to 1.
    pub cpu: f64,
    /// Bytes read from all disks per second.
    pub read: f64,
    /// Bytes written to all disks per second.
    pub written: f64,
    /// The share of the time in which the busiest disk was in use, from 0 to 1.
    pub disk: f64,
    /// Retransmitted TCP segments per second.
    pub resent: f64,
    /// The lanes of all copies in which the node takes part.
    pub lanes: Vec<Lane>,
    /// The jobs that run on the node.
    pub jobs: Vec<Job>,
    /// The number of jobs that wait for a processor.
    pub waiting: u32,
    /// The number of lanes that did not fit into the node's report.
    pub more_lanes: u32,
    /// The number of jobs that did not fit into the node's report.
    pub more_jobs: u32,
    /// The number of agents on the node that did not answer.
    pub silent: u32,
}

/// The traffic of a NIC.
#[derive(Clone, Debug, PartialEq)]
pub struct Nic {
    pub name: String,
    /// Bytes received per second.
    pub received: f64,
    /// Bytes sent per second.
    pub sent: f64,
}

/// A lane of a copy on the node.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// The first six hexadecimal digits of the copy's id.
    pub copy: String,
    /// The path of the copy on the node, in which control characters are replaced.
    pub name: String,
    /// The lane's number in the copy.
    pub number: u16,
    /// Bytes of the copy that the node has received or, as the source, sent.
    pub held: u64,
    /// Bytes of the copy that belong to the node; `None` while the end of a stream is unknown.
    pub length: Option<u64>,
    /// The seconds until the node has all of the copy at its present rate; `None` if unknown.
    pub left: Option<f64>,
    /// Bytes received per second.
    pub received: f64,
    /// Bytes sent per second.
    pub sent: f64,
    /// What the lane waits for most.
    pub limiter: Limiter,
    /// The share of the time in which the lane waits for `limiter`, from 0 to 1; `None` if unknown.
    pub share: Option<f64>,
}

/// What a lane waits for on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// The upstream: the sender, or the wire from it.
    Upstream,
    /// The downstream: the receiver, or the wire to it.
    Downstream,
    /// The node's own disk, or the command that reads the data.
    Disk,
    /// A processor: the lane is not waiting for anything else.
    Processor,
    /// The node has received everything, and syncs it or reads it back.
    Stable,
    /// The node has received everything; other nodes have not.
    Others,
    /// Nothing has been transferred yet.
    Beginning,
    /// Nothing is left to do in this lane.
    Nothing,
    /// The copy has no trace.
    Unknown,
}

/// A job that runs on the node.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub number: u32,
    pub command: String,
    pub cores: u32,
    pub seconds: f64,
}

impl Figures {
    /// Returns the activity between two samples; `None` if no time passed between them.
    pub fn between(earlier: &NodeView, later: &NodeView) -> Option<Self> {
        let passed_ns = later.at_ns.checked_sub(earlier.at_ns).filter(|&ns| ns > 0)?;
        let mut figures = Self::of_kernel(&earlier.kernel, &later.kernel, passed_ns as f64 / 1e9);
        let account = &later.account;
        for copy in &account.copies {
            // A node may be source and destination of one copy.
            let is_same =
                |other: &&CopyView| (other.copy, other.is_source) == (copy.copy, copy.is_source);
            let before = earlier.account.copies.iter().find(is_same);
            let lane_before = |number| before?.lanes.iter().find(|lane| lane.lane == number);
            let left = time_left(copy, before, passed_ns);
            figures.lanes.extend(copy.lanes.iter().map(|lane| Lane {
                left,
                ..Lane::new(copy, lane, lane_before(lane.lane), passed_ns)
            }));
        }
        figures.jobs.extend(account.jobs.iter().map(|job| Job {
            number: job.job,
            command: shown(&job.command),
            cores: job.cores,
            seconds: job.running_ns as f64 / 1e9,
        }));
        figures.waiting = account.waiting;
        (figures.more_lanes, figures.more_jobs) = (account.more_lanes, account.more_jobs);
        figures.silent = later.silent;
        Some(figures)
    }

    fn of_kernel(earlier: &KernelCounts, later: &KernelCounts, seconds: f64) -> Self {
        let per = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        let mut figures = Self { resent: per(later.resent, earlier.resent), ..Self::default() };
        for now in &later.nics {
            let then = earlier.nics.iter().find(|nic| nic.name == now.name).unwrap_or(now);
            let received = per(now.received, then.received);
            let sent = per(now.sent, then.sent);
            figures.nics.push(Nic { name: shown(&now.name), received, sent });
        }
        figures.nics.sort_by(|one, other| one.name.cmp(&other.name));
        for now in &later.disks {
            let then = earlier.disks.iter().find(|disk| disk.name == now.name).unwrap_or(now);
            figures.read += per(now.read, then.read);
            figures.written += per(now.written, then.written);
            let busy = per(now.busy_ms, then.busy_ms) / 1000.0;
            figures.disk = figures.disk.max(busy.min(1.0));
        }
        let ticks = later.ticks.saturating_sub(earlier.ticks);
        if ticks > 0 {
            let busy = later.busy_ticks.saturating_sub(earlier.busy_ticks);
            figures.cpu = (busy as f64 / ticks as f64).min(1.0);
        }
        figures
    }

    /// Returns the bytes received per second over all NICs.
    pub fn received(&self) -> f64 {
        self.nics.iter().map(|nic| nic.received).sum()
    }

    /// Returns the bytes sent per second over all NICs.
    pub fn sent(&self) -> f64 {
        self.nics.iter().map(|nic| nic.sent).sum()
    }
}

impl Lane {
    fn new(copy: &CopyView, now: &LaneView, then: Option<&LaneView>, passed_ns: u64) -> Self {
        let per = |of: fn(&LaneView) -> u64| {
            of(now).saturating_sub(then.map_or(0, of)) as f64 / (passed_ns as f64 / 1e9)
        };
        let (limiter, share) = limiter(copy, now, then, passed_ns);
        // The last block may be shorter than the others.
        let held = copy.held.saturating_mul(copy.block_size.into());
        Self {
            copy: copy.copy.0[..3].iter().map(|byte| format!("{byte:02x}")).collect(),
            name: shown(&copy.name),
            number: now.lane,
            held: copy.length.map_or(held, |length| length.min(held)),
            length: copy.length,
            left: None,
            received: per(|lane| lane.came),
            sent: per(|lane| lane.went),
            limiter,
            share,
        }
    }
}

/// Returns the seconds until a node has all of a copy, at the rate since the last sample.
fn time_left(now: &CopyView, then: Option<&CopyView>, passed_ns: u64) -> Option<f64> {
    let blocks = now.held.saturating_sub(then?.held);
    let left = now.blocks?.saturating_sub(now.held);
    (blocks > 0).then(|| left as f64 / blocks as f64 * passed_ns as f64 / 1e9)
}

impl Limiter {
    /// Returns the name of the limiter.
    pub fn word(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::Downstream => "downstream",
            Self::Disk => "own disk",
            Self::Processor => "processor",
            Self::Stable => "making stable",
            Self::Others => "the others",
            Self::Beginning => "beginning",
            Self::Nothing => "nothing",
            Self::Unknown => "unknown",
        }
    }
}

/// Returns what a lane waited for most, and the share of the known time in which it waited for
/// that; `None` if the share is unknown or does not apply.
fn limiter(
    copy: &CopyView,
    now: &LaneView,
    then: Option<&LaneView>,
    passed_ns: u64,
) -> (Limiter, Option<f64>) {
    let has_all = copy.blocks.is_some_and(|blocks| copy.held >= blocks);
    if copy.finishing {
        return (Limiter::Stable, None);
    } else if has_all {
        return (Limiter::Others, None);
    }
    let Some(waits) = now.waits else { return (Limiter::Unknown, None) };
    let before = then.and_then(|then| then.waits);
    let since = |of: fn(&Waits) -> u64| {
        of(&waits).saturating_sub(before.as_ref().map_or(0, of)).min(passed_ns)
    };
    let waited = [
        (Limiter::Upstream, since(|waits| waits.up)),
        (Limiter::Downstream, since(|waits| waits.down)),
        (Limiter::Disk, since(|waits| waits.disk)),
        (Limiter::Nothing, since(|waits| waits.rest)),
    ];
    let sum: u64 = waited.iter().map(|(_, ns)| ns).sum();
    // If the copy began after the first sample, its start and its working time are unknown.
    let (whole, worked) = match before {
        Some(_) => (passed_ns.max(sum), passed_ns.saturating_sub(sum)),
        None => (sum, 0),
    };
    let all = waited.into_iter().chain([(Limiter::Processor, worked)]);
    let (limiter, ns) = all.max_by_key(|(_, ns)| *ns).unwrap_or((Limiter::Unknown, 0));
    let limiter = match limiter {
        _ if ns == 0 => return (Limiter::Unknown, None),
        Limiter::Nothing if now.came + now.went == 0 => Limiter::Beginning,
        // Received data that is not written yet.
        Limiter::Nothing if copy.lanes.len() == 1 && !copy.is_source => Limiter::Disk,
        limiter => limiter,
    };
    (limiter, Some(ns as f64 / whole as f64))
}

/// Replaces control characters in a name.
fn shown(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use garland_protocol::copy::CopyId;
    use garland_protocol::measure::{Account, DiskCounts, JobView, NicCounts};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn view(at: u64, waits: Waits, came: u64, held: u64) -> NodeView {
        let lane = LaneView { lane: 0, came, went: came / 2, waits: Some(waits) };
        let copy = CopyView {
            copy: CopyId([0x3f; 16]),
            name: "/x\n".to_owned(),
            is_source: false,
            held,
            blocks: Some(100),
            length: Some(100 << 20),
            block_size: 1 << 20,
            finishing: false,
            lanes: vec![lane],
        };
        let job = JobView { job: 7, command: "sleep 9".to_owned(), cores: 2, running_ns: SECOND };
        let account =
            Account { copies: vec![copy], jobs: vec![job], waiting: 3, ..Account::default() };
        let nic = NicCounts { name: "eth0".to_owned(), received: at * 1000, sent: 0 };
        let disk =
            DiskCounts { name: "sda".to_owned(), read: 0, written: at * 10, busy_ms: at * 500 };
        let kernel = KernelCounts {
            nics: vec![nic],
            disks: vec![disk],
            busy_ticks: at * 25,
            ticks: at * 100,
            resent: at * 5,
        };
        NodeView { at_ns: at * SECOND, kernel, account, silent: 0 }
    }

    fn lane(of: &Figures) -> &Lane {
        &of.lanes[0]
    }

    #[test]
    fn two_samples_give_rates() {
        let first = view(10, Waits::default(), 0, 0);
        let later = view(12, Waits { up: 2 * SECOND, ..Waits::default() }, 3 << 20, 25);
        let figures = Figures::between(&first, &later).unwrap();
        assert_eq!((figures.received(), figures.sent(), figures.written), (1000.0, 0.0, 10.0));
        assert_eq!((figures.cpu, figures.disk, figures.resent), (0.25, 0.5, 5.0));
        let only = lane(&figures);
        assert_eq!((only.copy.as_str(), only.name.as_str(), only.number), ("3f3f3f", "/x?", 0));
        assert_eq!((only.held, only.length), (25 << 20, Some(100 << 20)));
        // 25 of 100 blocks in two seconds.
        assert_eq!(only.left, Some(6.0));
        assert_eq!((only.received, only.sent), (1.5 * 1048576.0, 0.75 * 1048576.0));
        assert_eq!((figures.jobs[0].seconds, figures.waiting), (1.0, 3));
        assert_eq!(Figures::between(&first, &first), None);
        // The counters of an agent that was restarted begin at 0.
        assert_eq!(Figures::between(&later, &first), None);
    }

    #[test]
    fn the_limiter_is_what_was_waited_for_longest() {
        let first = view(10, Waits { up: 5 * SECOND, ..Waits::default() }, 1, 0);
        let at = |waits, held| {
            let later = view(11, waits, 1 << 20, held);
            let figures = Figures::between(&first, &later).unwrap();
            (lane(&figures).limiter, lane(&figures).share)
        };
        let up = 5 * SECOND;
        let part = |part: u64| part * SECOND / 10;
        let base = Waits { up, ..Waits::default() };
        assert_eq!(at(base, 0), (Limiter::Processor, Some(1.0)));
        assert_eq!(at(Waits { up: up + part(9), ..base }, 0), (Limiter::Upstream, Some(0.9)));
        let down = Waits { down: part(6), disk: part(3), ..base };
        assert_eq!(at(down, 0), (Limiter::Downstream, Some(0.6)));
        assert_eq!(at(Waits { disk: part(8), ..base }, 0), (Limiter::Disk, Some(0.8)));
        assert_eq!(at(Waits { rest: part(10), ..base }, 99), (Limiter::Disk, Some(1.0)));
        assert_eq!(at(base, 100), (Limiter::Others, None));
    }

    #[test]
    fn a_copy_that_has_just_begun_has_a_limiter_and_one_without_a_trace_has_none() {
        let mut first = view(10, Waits::default(), 0, 0);
        first.account = Account::default();
        let waits = Waits { up: SECOND / 10, disk: SECOND / 50, ..Waits::default() };
        let mut later = view(11, waits, 1 << 20, 1);
        let figures = Figures::between(&first, &later).unwrap();
        assert_eq!(lane(&figures).limiter, Limiter::Upstream);
        later.account.copies[0].lanes[0].waits = None;
        let figures = Figures::between(&first, &later).unwrap();
        assert_eq!(lane(&figures).limiter, Limiter::Unknown);
        later.account.copies[0].finishing = true;
        let figures = Figures::between(&first, &later).unwrap();
        assert_eq!(lane(&figures).limiter, Limiter::Stable);
    }
}

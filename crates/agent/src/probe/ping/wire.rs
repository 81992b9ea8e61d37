//! Gets, puts and messages over a TCP connection. Requests that are due at the same time are sent
//! in one write, and all requests that have arrived are answered in one write. This makes many
//! operations in flight fast. Gets and puts are emulated: the target's CPU serves them.

use garland_sys::clock;
use garland_sys::socket::TcpStream;

use super::flow::Flow;
use super::memory::Memory;
use super::round::Order;
use super::tally::Tally;
use super::transport::ProbeTransport;
use crate::probe::error::ProbeError;
use crate::probe::meeting_state::MeetingState;

/// A TCP connection, over which gets, puts and messages are sent.
pub struct Wire<'a> {
    meeting: &'a MeetingState,
    stream: &'a TcpStream,
    polls: bool,
}

impl<'a> Wire<'a> {
    /// Uses `stream`. While it waits, this side polls if `polls` is set; otherwise it sleeps.
    pub fn new(meeting: &'a MeetingState, stream: &'a TcpStream, polls: bool) -> Self {
        Self { meeting, stream, polls }
    }
}

impl ProbeTransport for Wire<'_> {
    fn timed_together(&self, _: &Order) -> u32 {
        1
    }

    fn run(&mut self, order: &Order, tally: &mut Tally) -> Result<u64, ProbeError> {
        let (ask, answer) = order.bytes();
        let depth = u64::from(order.depth);
        let mut flow = Flow::new(self.meeting, self.stream, self.polls, Memory::new(ask), true)?;
        let mut begins = vec![0; order.depth as usize];
        let mut begun = 0_u64;
        let mut done = 0_u64;
        let mut now = clock::now_ns();
        let start = now;
        // The time at which an operation is due at the given rate. Operations are timed from then
        // on, so that delays of their beginning count.
        let intended = |number: u64| {
            order.rate.map(|rate| start + number.saturating_mul(1_000_000_000) / u64::from(rate))
        };
        while done < order.count {
            let most = order.count.min(done + depth);
            while begun < most {
                let at = match intended(begun) {
                    Some(due) if due > now => break,
                    Some(due) => due,
                    None => now,
                };
                begins[(begun % depth) as usize] = at;
                begun += 1;
            }
            let all_sent = flow.push(begun * ask, now)?;
            let due = intended(begun).filter(|_| begun < most);
            now = flow.pull(begun * answer, !all_sent, due)?;
            let finished = flow.received / answer;
            for number in done..finished {
                tally.sojourn.record(now.saturating_sub(begins[(number % depth) as usize]));
            }
            done = finished;
        }
        tally.writes += flow.writes;
        tally.writing_ns += flow.writing_ns;
        tally.work_ns[0] += flow.work_ns();
        Ok(now - start)
    }

    fn serve(&mut self, order: &Order) -> Result<u64, ProbeError> {
        let (ask, answer) = order.bytes();
        let mut flow =
            Flow::new(self.meeting, self.stream, self.polls, Memory::new(answer), false)?;
        let asked = order.count.saturating_mul(ask);
        let owed = order.count.saturating_mul(answer);
        let mut now = 0;
        loop {
            let all_sent = flow.push(flow.received / ask * answer, now)?;
            if flow.sent == owed {
                return Ok(flow.work_ns());
            }
            now = flow.pull(asked, !all_sent, None)?;
        }
    }
}

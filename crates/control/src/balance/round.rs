//! The copies of one round, each decided on by a head machine of its own, all begun at once.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use garland_core::plan::{HEAD, NodeId};
use garland_protocol::{
    BalanceOrder, Begin, Destination, End, HeadEvent, NodeAddress, NodeState, ReadBack, ToAgent,
    Verdict,
};
use garland_sys::clock;
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;

use super::ask::{LOOK, place, silence};
use super::exchange::{CopyPair, Exchange, RoundJob};
use crate::agent_set::AgentEvent;
use crate::balance::pair::{PairOutcome, Running, SINK};

/// How long agents may take to clean up.
const GOODBYE_NS: u64 = 10_000_000_000;

/// How a round ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoundEnd {
    /// All copies were made.
    Done,
    /// One wasn't: whose fault it seems, by its place, and why.
    Failed(usize, String),
    /// The user gave up.
    Interrupted,
}

/// A round's copies.
pub struct BalanceRound<'a> {
    job: &'a RoundJob,
    copies: Vec<Running>,
    began_ns: u64,
    /// When any of them got on last, in monotonic nanoseconds.
    moved_ns: u64,
    /// Who was the first that couldn't go on, and why.
    fault: Option<(usize, String)>,
}

impl<'a> BalanceRound<'a> {
    /// The copies of `job` among nodes of these names and addresses; none has begun.
    pub fn new(job: &'a RoundJob, names: &[String], addresses: &[NodeAddress]) -> Self {
        let now = clock::now_ns();
        let copy = |errand: &CopyPair| Running::new(*errand, job.layout, names, addresses, now);
        let copies = job.errands.iter().map(copy).collect();
        Self { job, copies, began_ns: now, moved_ns: now, fault: None }
    }

    /// Bytes of each copy.
    pub fn size(&self) -> u64 {
        self.job.layout.length
    }

    /// How the copies went, in the job's order.
    pub fn into_courses(self) -> Vec<PairOutcome> {
        self.copies.into_iter().map(|copy| copy.course).collect()
    }

    fn begin_of(&self, running: &Running, me: NodeId) -> Begin {
        let job = self.job;
        Begin {
            copy: running.copy,
            secret: running.secret.clone(),
            digest_key: if me == HEAD {
                running.digest_key.clone()
            } else {
                running.digest_key.to_public()
            },
            sealed: job.sealed,
            layout: running.plan.layout,
            lanes: running.plan.lanes.iter().map(|lane| lane.blocks).collect(),
            me,
            end: End::Sink(Destination::Scratch { path: job.path.clone(), fsync: job.fsync }),
            stripe: None,
            known: None,
            buffers: 0,
            acknowledge: false,
            routes: running.head.routes(me),
            congestion: job.congestion.clone(),
            mptcp: job.transport == Transport::Mptcp && running.errand.is_remote(),
            pace: 0,
            read_back: ReadBack::default(),
            // The bout has an account of its own.
            trace: 0,
            injections: Vec::new(),
        }
    }

    /// Opens all destinations; nothing is read yet.
    fn open(&self, exchange: &mut Exchange) {
        for running in &self.copies {
            let begin = self.begin_of(running, SINK);
            exchange.board.send(place(running.errand.to), &ToAgent::Begin(Box::new(begin)));
        }
    }

    /// Lets all feeders go, and the time begin.
    fn go(&mut self, exchange: &mut Exchange) {
        let feeds: Vec<(usize, ToAgent)> = self
            .copies
            .iter()
            .map(|running| {
                let begin = Box::new(self.begin_of(running, HEAD));
                (running.errand.from, ToAgent::Balance(BalanceOrder::Feed(begin)))
            })
            .collect();
        self.began_ns = clock::now_ns();
        feeds.iter().for_each(|(from, order)| exchange.board.send(place(*from), order));
    }

    fn hear(&mut self, node: usize, call: &AgentEvent) {
        let now = clock::now_ns();
        for running in &mut self.copies {
            if running.hear(now, node, call) {
                self.moved_ns = now;
            }
            if running.course.took_ns.is_none() && running.verdict() == Some(Verdict::Ok) {
                running.course.took_ns = Some(now - self.began_ns);
            }
        }
    }

    /// Lets time pass: who is silent is gone, and what doesn't move hangs.
    fn tick(&mut self, exchange: &Exchange, patience: Duration) {
        let now = clock::now_ns();
        let hangs = u128::from(now.saturating_sub(self.moved_ns)) > patience.as_nanos();
        for running in self.copies.iter_mut().filter(|running| !running.finished) {
            if exchange.is_silent(running.errand.from) {
                running.fail(now, silence());
            } else if hangs {
                running.fail(now, format!("nothing has moved for {} s", patience.as_secs()));
            } else if running.head.deadline().is_some_and(|at| at <= now) {
                running.head.handle(now, HeadEvent::Tick);
            }
        }
    }

    /// Sends what the machines order; once a copy can't be, none of the others is of use.
    fn obey(&mut self, exchange: &mut Exchange, began: bool) {
        for running in &mut self.copies {
            running.obey(exchange, began);
        }
        if self.fault.is_none() {
            self.fault = self.first_fault();
        }
        if self.fault.is_some() {
            let now = clock::now_ns();
            for running in self.copies.iter_mut().filter(|running| !running.finished) {
                running.head.handle(now, HeadEvent::Interrupted);
                running.obey(exchange, began);
            }
        }
    }

    /// Whose fault it is that a copy has failed, and why; only the first failure is anybody's.
    fn first_fault(&self) -> Option<(usize, String)> {
        let mut failed = self.copies.iter().filter(|running| running.finished);
        failed.find_map(|running| match (&running.fault, running.verdict()?) {
            (Some(reason), _) => Some((running.errand.from, reason.clone())),
            (None, Verdict::Failed(reason) | Verdict::Dead(reason)) => {
                Some((running.errand.to, reason))
            }
            (None, Verdict::Ok) => None,
        })
    }

    fn is_ready(&self) -> bool {
        let joining = |running: &Running| {
            running.head.states().nth(SINK.index()) == Some(&NodeState::Joining)
        };
        !self.copies.iter().any(joining)
    }

    fn is_finished(&self) -> bool {
        self.copies.iter().all(|running| running.finished)
    }
}

/// Makes all copies of `bout`; one that doesn't get on for `patience` hangs.
///
/// # Errors
/// When this host can't wait for them.
pub fn hold(
    exchange: &mut Exchange,
    bout: &mut BalanceRound<'_>,
    patience: Duration,
    interrupts: Option<&Interrupts>,
) -> io::Result<RoundEnd> {
    let mut began = false;
    let mut interrupted = false;
    bout.open(exchange);
    while !bout.is_finished() {
        if !began && bout.is_ready() && bout.fault.is_none() {
            began = true;
            bout.go(exchange);
        }
        listen(exchange, bout, interrupts)?;
        if !interrupted && interrupts.is_some_and(Interrupts::pending) {
            interrupted = true;
            let now = clock::now_ns();
            bout.copies.iter_mut().for_each(|one| one.head.handle(now, HeadEvent::Interrupted));
        }
        bout.tick(exchange, patience);
        bout.obey(exchange, began);
    }
    let end = match bout.fault.take() {
        _ if interrupted => RoundEnd::Interrupted,
        Some((node, reason)) => RoundEnd::Failed(node, reason),
        None => RoundEnd::Done,
    };
    say_goodbye(exchange, bout, began)?;
    Ok(end)
}

/// Ends the copies at all agents, feeders first: their connections' accounts are of use.
fn say_goodbye(
    exchange: &mut Exchange,
    bout: &mut BalanceRound<'_>,
    began: bool,
) -> io::Result<()> {
    for running in &mut bout.copies {
        running.ended |= !began || !exchange.board.has(place(running.errand.from));
        if !running.ended {
            let end = ToAgent::Balance(BalanceOrder::End(running.copy));
            exchange.board.send(place(running.errand.from), &end);
        }
    }
    wait_for(exchange, bout, |running, exchange| {
        running.ended || exchange.is_gone(running.errand.from)
    })?;
    for running in &bout.copies {
        exchange.board.send(place(running.errand.to), &ToAgent::Close(running.copy));
    }
    wait_for(exchange, bout, |running, exchange| {
        running.closed || exchange.is_gone(running.errand.to)
    })
}

fn wait_for(
    exchange: &mut Exchange,
    bout: &mut BalanceRound<'_>,
    is_over: fn(&Running, &Exchange) -> bool,
) -> io::Result<()> {
    let deadline_ns = clock::now_ns() + GOODBYE_NS;
    while !bout.copies.iter().all(|running| is_over(running, exchange))
        && clock::now_ns() < deadline_ns
    {
        listen(exchange, bout, None)?;
    }
    Ok(())
}

fn listen(
    exchange: &mut Exchange,
    bout: &mut BalanceRound<'_>,
    interrupts: Option<&Interrupts>,
) -> io::Result<()> {
    let others: Vec<_> = interrupts.iter().map(|fd| fd.as_fd()).collect();
    for (id, call) in exchange.board.wait(&others, LOOK)? {
        let node = id.index() - 1;
        exchange.heard_ns[node] = clock::now_ns();
        bout.hear(node, &call);
    }
    Ok(())
}

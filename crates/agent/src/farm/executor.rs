//! The bench: jobs that wait here, and threads that run one each.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use garland_core::farm::Outcome;
use garland_protocol::{FarmEvent, FarmTask, TaskEnd};
use garland_sys::event::Wake;
use garland_sys::{clock, threads};

use super::guard::Guard;
use super::run::{self, Place};
use crate::farm::batcher::{EventBatcher, Tell};
use crate::farm::snapshot::JobsSnapshot;

/// Jobs that run at the same time at most, whatever is asked for: each takes a thread and descriptors.
const AT_ONCE: usize = 2000;

/// Stack of a thread that runs jobs: it only starts and waits.
const STACK: usize = 128 << 10;

/// Jobs on this node.
pub struct JobExecutor {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What its threads share.
pub(super) struct Shared {
    place: Place,
    saying: Arc<EventBatcher>,
    guard: Option<Guard>,
    /// Raised when all jobs are to end.
    stop: Wake,
    state: Mutex<State>,
    changed: Condvar,
}

/// Which jobs it has.
pub(super) struct State {
    /// Those that haven't been started.
    pub(super) waiting: VecDeque<FarmTask>,
    /// Those that run, and since when, in monotonic nanoseconds.
    pub(super) running: Vec<(Arc<FarmTask>, u64)>,
    /// Processors that no job has.
    free: u32,
    /// Threads without a job.
    idle: usize,
    over: bool,
}

impl JobExecutor {
    /// A bench of so many processors, which tells by `tell` what becomes of its jobs. They end with this
    /// process; `guarded` even if it is killed.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new(slots: u32, place: Place, guarded: bool, tell: Tell) -> std::io::Result<Self> {
        let state = State {
            waiting: VecDeque::new(),
            running: Vec::new(),
            free: slots,
            idle: 0,
            over: false,
        };
        let shared = Shared {
            place,
            saying: EventBatcher::begin(tell)?,
            guard: guarded.then(Guard::start).transpose()?,
            stop: Wake::new()?,
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        Ok(Self { shared: Arc::new(shared), threads: Vec::new() })
    }

    /// Shows its jobs to whoever looks.
    pub fn glance(&self) -> JobsSnapshot {
        JobsSnapshot::new(&self.shared)
    }

    /// Runs these in their order, as processors get free.
    pub fn take(&mut self, tasks: Vec<FarmTask>) {
        let mut state = self.shared.lock();
        state.waiting.extend(tasks);
        let wanted = state.threads_wanted().min(AT_ONCE.saturating_sub(self.threads.len()));
        drop(state);
        for _ in 0..wanted {
            let shared = Arc::clone(&self.shared);
            match threads::spawn_small("job", STACK, move || shared.work()) {
                Ok(thread) => self.threads.push(thread),
                // Those that are there take the jobs, one after another.
                Err(_) if !self.threads.is_empty() => break,
                Err(error) => return self.shared.refuse_all(&error),
            }
        }
        self.shared.changed.notify_all();
    }

    /// Gives back those of these jobs that haven't been started.
    pub fn give_back(&self, jobs: &[u32]) {
        let mut back = Vec::new();
        self.shared.lock().waiting.retain(|task| {
            let wanted = jobs.contains(&task.job);
            back.extend(wanted.then_some(task.job));
            !wanted
        });
        self.shared.saying.tell(FarmEvent::Returned(back));
    }
}

impl Drop for JobExecutor {
    /// Kills all jobs.
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.over = true;
        state.waiting.clear();
        drop(state);
        self.shared.stop.raise();
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // Its panic has been printed; there is nothing more to say about it here.
            let _ = thread.join();
        }
        self.shared.saying.end();
    }
}

impl State {
    /// How many threads more would have something to do.
    fn threads_wanted(&self) -> usize {
        let mut free = self.free;
        let fits = |task: &&FarmTask| {
            let fits = task.cores <= free;
            free = free.saturating_sub(task.cores);
            fits
        };
        self.waiting.iter().take_while(fits).count().saturating_sub(self.idle)
    }

    /// The next job, if there are processors for it.
    fn next(&mut self) -> Option<Arc<FarmTask>> {
        self.free = self.free.checked_sub(self.waiting.front()?.cores)?;
        let task = Arc::new(self.waiting.pop_front()?);
        self.running.push((Arc::clone(&task), clock::now_ns()));
        Some(task)
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            let Some(task) = state.next() else {
                if state.over {
                    return;
                }
                state.idle += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            drop(state);
            let (end, said) = run::run(&task, &self.place, self.guard.as_ref(), &self.stop);
            if !said.is_empty() {
                self.saying.tell(FarmEvent::Said(task.job, said));
            }
            state = self.lock();
            state.free += task.cores;
            state.running.retain(|(running, _)| !Arc::ptr_eq(running, &task));
            let is_last = state.waiting.is_empty();
            drop(state);
            self.saying.ended(end, is_last);
            // Another may want more than one thread's share.
            self.changed.notify_all();
            state = self.lock();
        }
    }

    /// No thread can be had.
    fn refuse_all(&self, error: &std::io::Error) {
        let waiting = std::mem::take(&mut self.lock().waiting);
        let now = clock::now_ns();
        let end = |task: FarmTask| TaskEnd {
            job: task.job,
            started_ns: now,
            ended_ns: now,
            outcome: Outcome::Failed(format!("no thread for it: {error}")),
            cpu_ns: 0,
            memory: 0,
            bytes_out: 0,
            last_words: Vec::new(),
        };
        self.saying.tell(FarmEvent::Ended(waiting.into_iter().map(end).collect()));
    }
}

//! Executes jobs: a queue, and one thread per running job.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use garland_core::farm::Outcome;
use garland_protocol::farm::{FarmEvent, FarmTask, JOBS_AT_ONCE_MAX, OUTPUT_FILES_MAX, TaskEnd};
use garland_sys::event::Wake;
use garland_sys::mark::Mark;
use garland_sys::sync::{Condvar, Mutex};
use garland_sys::threads::JoinHandle;
use garland_sys::{clock, threads};

use super::batcher::{EventBatcher, Tell};
use super::guard::Guard;
use super::meter;
use super::run::{self, JobEnd, Place, Supervision};

/// Stack size of a thread that runs jobs, in bytes: it only starts processes and waits.
const STACK: usize = 128 << 10;

/// Runs jobs on this node. Dropping this kills all of them.
pub struct JobExecutor {
    pub(super) shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The thread that measures the CPU time of jobs.
    meter: Option<JoinHandle<()>>,
}

/// The state that an executor shares with its threads.
pub(super) struct Shared {
    place: Place,
    events: Arc<EventBatcher>,
    guard: Option<Guard>,
    /// The mark of all jobs.
    mark: Mark,
    /// Raised to kill all jobs.
    stop: Wake,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Jobs that have not been started.
    waiting: VecDeque<FarmTask>,
    running: Vec<Arc<RunningJob>>,
    /// The number of processors that are not in use.
    free: u32,
    /// The number of threads that wait for a job.
    idle: usize,
    /// Whether jobs can be ordered to leave.
    metered: bool,
    /// Whether output is reported as it comes.
    streamed: bool,
    over: bool,
}

/// A running job.
pub(super) struct RunningJob {
    pub task: FarmTask,
    /// Its start in monotonic nanoseconds.
    pub since_ns: u64,
    /// Raised when the job is to leave this node; `None` if it cannot leave.
    leave: Option<Wake>,
    /// The leader of its process group, as `/proc` names it; 0 before its start and after its end.
    leader: AtomicU32,
}

impl JobExecutor {
    /// Creates an executor with `slots` processors, which passes the events of its jobs to `tell`.
    /// The jobs are killed when this process exits; if `guarded`, even when this process is killed.
    ///
    /// # Errors
    /// When the system has no file descriptors or threads left.
    pub fn new(slots: u32, place: Place, guarded: bool, tell: Tell) -> io::Result<Self> {
        let mark = Mark::new();
        let guard = guarded.then(|| Guard::start(&mark, place.own.as_deref(), None)).transpose()?;
        let shared = Shared {
            place,
            events: EventBatcher::begin(tell)?,
            guard,
            mark,
            stop: Wake::new()?,
            state: Mutex::new(State { free: slots, ..State::default() }),
            changed: Condvar::new(),
        };
        Ok(Self { shared: Arc::new(shared), threads: Vec::new(), meter: None })
    }

    /// Reports the CPU time of running jobs from now on, and lets them leave.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn meter(&mut self) -> io::Result<()> {
        self.shared.state.lock().metered = true;
        let shared = Arc::clone(&self.shared);
        let measure = move || {
            let tell = |event| shared.events.tell(event);
            meter::measure(&shared.stop, || shared.leaders(), tell);
        };
        self.meter = Some(threads::spawn_small("meter", STACK, measure)?);
        Ok(())
    }

    /// Reports the output of jobs that begin from now on as it comes. A job waits while it is sent.
    pub fn stream(&mut self) {
        self.shared.state.lock().streamed = true;
    }

    /// Orders a running job to leave this node. Nothing happens if it does not run.
    pub fn leave(&self, job: u32) {
        let state = self.shared.state.lock();
        let running = state.running.iter().find(|running| running.task.job == job);
        running.and_then(|running| running.leave.as_ref()).into_iter().for_each(Wake::raise);
    }

    /// Queues `tasks`; they are started in order as processors become free.
    pub fn take(&mut self, tasks: Vec<FarmTask>) {
        let mut state = self.shared.state.lock();
        state.waiting.extend(tasks);
        let wanted =
            state.threads_wanted().min(JOBS_AT_ONCE_MAX.saturating_sub(self.threads.len()));
        drop(state);
        for _ in 0..wanted {
            let shared = Arc::clone(&self.shared);
            match threads::spawn_small("job", STACK, move || shared.work()) {
                Ok(thread) => self.threads.push(thread),
                // The existing threads run the jobs one after another.
                Err(_) if !self.threads.is_empty() => break,
                Err(error) => return self.shared.refuse_all(&error),
            }
        }
        self.shared.changed.notify_all();
    }

    /// Removes from the queue those of `jobs` that have not been started, and reports their
    /// numbers.
    pub fn give_back(&self, jobs: &[u32]) {
        let mut back = Vec::new();
        self.shared.state.lock().waiting.retain(|task| {
            let wanted = jobs.contains(&task.job);
            back.extend(wanted.then_some(task.job));
            !wanted
        });
        self.shared.events.tell(FarmEvent::Returned(back));
    }
}

impl Drop for JobExecutor {
    /// Kills all jobs, and the processes that left their groups.
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.over = true;
        state.waiting.clear();
        drop(state);
        self.shared.stop.raise();
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..).chain(self.meter.take()) {
            // A panic has been printed already.
            let _ = thread.join();
        }
        // Jobs that ended may have left processes behind, too.
        self.shared.mark.kill_all(&[]);
        self.shared.events.end();
    }
}

impl State {
    /// Returns the number of additional threads that could each run a waiting job.
    fn threads_wanted(&self) -> usize {
        let mut free = self.free;
        let fits = |task: &&FarmTask| {
            let fits = task.cores <= free;
            free = free.saturating_sub(task.cores);
            fits
        };
        self.waiting.iter().take_while(fits).count().saturating_sub(self.idle)
    }

    /// Takes the next job from the queue; `None` if the queue is empty, or if too few processors
    /// are free for the job.
    fn next(&mut self) -> Option<Arc<RunningJob>> {
        self.free = self.free.checked_sub(self.waiting.front()?.cores)?;
        let task = self.waiting.pop_front()?;
        // Without descriptors, the job stays where it is.
        let leave = self.metered.then(Wake::new).and_then(Result::ok);
        let since_ns = clock::now_ns();
        let leader = AtomicU32::new(0);
        let job = Arc::new(RunningJob { task, since_ns, leave, leader });
        self.running.push(Arc::clone(&job));
        Some(job)
    }
}

impl Shared {
    /// Returns the running jobs, and the number of waiting ones.
    pub(super) fn jobs(&self) -> (Vec<Arc<RunningJob>>, usize) {
        let state = self.state.lock();
        (state.running.clone(), state.waiting.len())
    }

    /// Returns the numbers of the running jobs, each with the leader of its process group, as
    /// `/proc` names it.
    fn leaders(&self) -> Vec<(u32, u32)> {
        let of = |job: &Arc<RunningJob>| (job.task.job, job.leader.load(Ordering::Relaxed));
        self.state.lock().running.iter().map(of).filter(|(_, leader)| *leader > 0).collect()
    }

    /// The body of a job thread: runs jobs until the executor is stopped.
    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            let Some(job) = state.next() else {
                if state.over {
                    return;
                }
                state.idle += 1;
                self.changed.wait(&mut state);
                state.idle -= 1;
                continue;
            };
            let streamed = state.streamed;
            drop(state);
            let task = &job.task;
            let supervision = Supervision {
                guard: self.guard.as_ref(),
                mark: &self.mark,
                stop: &self.stop,
                leave: job.leave.as_ref(),
                leader: &|leader| job.leader.store(leader.unwrap_or(0), Ordering::Relaxed),
                wrote: &|is_error, bytes| {
                    if streamed {
                        self.events.tell(FarmEvent::Wrote(task.job, is_error, bytes.to_vec()));
                    }
                },
                stays: &|why| self.events.tell(FarmEvent::Stays(task.job, why)),
            };
            let JobEnd { end, said, files, has_left } = run::run(task, &self.place, &supervision);
            if !said.is_empty() {
                self.events.tell(FarmEvent::Output(task.job, said));
            }
            for some in files.chunks(OUTPUT_FILES_MAX).filter(|_| task.own_folder) {
                self.events.tell(FarmEvent::Results(task.job, some.to_vec()));
            }
            state = self.state.lock();
            state.free += task.cores;
            state.running.retain(|running| !Arc::ptr_eq(running, &job));
            let is_last = state.waiting.is_empty();
            drop(state);
            match has_left {
                true => self.events.tell(FarmEvent::Left(end)),
                false => self.events.ended(end, is_last),
            }
            // The free processors may suffice for a job that waits for several.
            self.changed.notify_all();
            state = self.state.lock();
        }
    }

    /// Fails all waiting jobs, because no thread can be started.
    fn refuse_all(&self, error: &io::Error) {
        let waiting = std::mem::take(&mut self.state.lock().waiting);
        let now = clock::now_ns();
        let end = |task: FarmTask| TaskEnd {
            job: task.job,
            started_ns: now,
            ended_ns: now,
            outcome: Outcome::Failed(format!("cannot start the job: {error}")),
            cpu_ns: 0,
            memory: 0,
            bytes_out: 0,
            last_words: Vec::new(),
        };
        self.events.tell(FarmEvent::Ended(waiting.into_iter().map(end).collect()));
    }
}

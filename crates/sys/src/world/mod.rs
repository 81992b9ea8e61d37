//! A simulated world: processes with threads, a network between them, and a clock, all in one
//! thread of this process. The production code runs in it unchanged.
//!
//! One thread of the world runs at a time, until it waits. All waits of production code are calls
//! of this crate: for a clock ([`crate::clock`]), a lock or condition ([`crate::sync`]), a queue
//! ([`crate::channel`]), a thread ([`crate::threads`]), a descriptor ([`crate::event`]) or a
//! connection ([`crate::tcp`]). Inside of a world these ask the world, which runs another thread
//! meanwhile. If all threads wait, time goes on to the next moment at which something happens.
//! Which of several ready threads runs, and how long bytes travel, is drawn from the seed: the same
//! seed gives the same run.
//!
//! Files are real ones; give each process a directory of its own. Calculations take no time.

mod disk;
mod network;
mod random;
mod tasks;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corosensei::CoroutineResult;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll as poll_now};
use rustix::io::Errno;
use rustix::time::ClockId;

use crate::answers::Answers;
use crate::storage::Operation;
pub(crate) use disk::Stable;
pub use disk::Survival;
use disk::{Disk, DiskEvent};
pub(crate) use network::Ends;
pub use network::Wires;
use network::{Network, Port};
pub use random::Random;
use tasks::{ProcessId, Resumed, Tasks, Wait};

/// The time at which a world begins, in nanoseconds of all its clocks.
const BEGINNING_NS: u64 = 2_000_000_000_000_000_000;

/// The time that one reading of the clock takes, in nanoseconds: a thread that waits for a time
/// without a call that waits comes to an end.
const READING_NS: u64 = 20;

/// The time that a thread takes from one wait to the next, in nanoseconds.
const STEP_NS: u64 = 500;

/// The longest time that a call of a disk takes, in nanoseconds.
const DISK_NS: u64 = 2_000_000;

/// The longest time that a world lasts. A world that lasts longer hangs.
const MAX_WORLD_TIME: Duration = Duration::from_secs(3600);

/// The time that passes, in nanoseconds, if threads only wait for each other to run.
const PATIENCE_NS: u64 = 1_000_000;

/// The number of steps after which descriptors are looked at, though threads are ready.
const STEPS: u32 = 64;

thread_local! {
    static WORLD: RefCell<Option<Rc<World>>> = const { RefCell::new(None) };
}

struct World {
    state: RefCell<State>,
    now_ns: Cell<u64>,
    /// Whether the world is taken down: nothing waits any more.
    is_over: Cell<bool>,
}

struct State {
    tasks: Tasks,
    disks: BTreeMap<ProcessId, Disk>,
    network: Network,
    random: Random,
    processes: Vec<String>,
    /// For how long the machines of processes were suspended, in nanoseconds.
    stood_ns: BTreeMap<ProcessId, u64>,
    /// The error of the wall clocks of processes, in seconds.
    wall_s: BTreeMap<ProcessId, i64>,
}

/// A process of the simulated world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(ProcessId);

/// Runs `work` as the first process of a new world, and returns its result. Other processes are
/// added by [`Process::start`]; whatever still runs in them when `work` returns is dropped.
///
/// # Panics
/// When a thread of the world panics, and when all threads wait for ever: then the message says for
/// what.
pub fn run<T: 'static>(seed: u64, wires: Wires, work: impl FnOnce() -> T + 'static) -> T {
    assert!(!inside(), "a world has no other world in it");
    let state = State {
        tasks: Tasks::default(),
        disks: BTreeMap::new(),
        network: Network::new(wires),
        random: Random::new(seed),
        processes: vec!["head".to_owned()],
        stood_ns: BTreeMap::new(),
        wall_s: BTreeMap::new(),
    };
    let world = Rc::new(World {
        state: RefCell::new(state),
        now_ns: Cell::new(BEGINNING_NS),
        is_over: Cell::new(false),
    });
    WORLD.set(Some(Rc::clone(&world)));
    let result = Rc::new(RefCell::new(None));
    let its = Rc::clone(&result);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        world.drive(move || *its.borrow_mut() = Some(work()));
    }));
    world.is_over.set(true);
    // What is on the stacks is dropped here, one stack after the other.
    let stacks = world.state.borrow_mut().tasks.take_all();
    drop(stacks);
    world.state.borrow_mut().disks.values_mut().for_each(Disk::come_back);
    WORLD.set(None);
    if let Err(panic) = ended {
        resume_unwind(panic);
    }
    result.take().expect("the first thread has ended")
}

impl Process {
    /// Adds a process to the present world. Its first thread runs `work`.
    ///
    /// # Errors
    /// When there is no memory for its stack.
    ///
    /// # Panics
    /// Outside of a world.
    pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let world = current().expect("a process is started in a world");
        let mut state = world.state.borrow_mut();
        state.processes.push(name.to_owned());
        let process = Self(state.processes.len() - 1);
        state.add(name, process.0, work)?;
        Ok(process)
    }

    /// Returns the process of the calling thread.
    ///
    /// # Panics
    /// Outside of a world.
    #[must_use]
    pub fn this() -> Self {
        Self(current().expect("a thread of a world").state.borrow().tasks.process())
    }

    /// Returns the address at which other processes reach this one.
    #[must_use]
    pub fn address(self) -> IpAddr {
        network::address_of(self.0)
    }

    /// Stops the threads of the process for a time (SIGSTOP, or a machine that is suspended).
    pub fn pause(self, time: Duration) {
        with(|state, now_ns| state.tasks.stop(self.0, Some(now_ns + nanoseconds(time))));
    }

    /// Ends the process at once (SIGKILL): its threads stop where they are, and the kernel ends its
    /// connections.
    pub fn kill(self) {
        with(|state, now_ns| {
            state.tasks.stop(self.0, None);
            state.network.end(self.0, false, now_ns);
        });
    }

    /// Ends the process as if its machine lost its power: other processes hear nothing any more. Of
    /// what it has not synced in its directory, nothing, some or all survives. The directory has
    /// what is left when the world is over.
    pub fn power_off(self) {
        with(|state, now_ns| {
            let survival = Survival::draw(&mut state.random);
            state.power_off(self.0, survival, now_ns);
        });
    }

    /// Lets the process lose its power as by [`Self::power_off`], before the `nth` call of its disk
    /// from now on, counted from 0.
    pub fn power_off_at(self, nth: u64, survival: Survival) {
        with(|state, _| state.disk(self.0).end(nth, survival));
    }

    /// Sets the directory of the process, which no other process uses. What is in it is stable.
    pub fn set_folder(self, folder: PathBuf) {
        with(|state, _| state.disk(self.0).set_root(folder));
    }

    /// Returns whether the process was killed or lost its power.
    #[must_use]
    pub fn is_gone(self) -> bool {
        current().is_some_and(|world| world.state.borrow().tasks.is_gone(self.0))
    }

    /// Makes calls of its disk fail: the `nth` one of this kind from now on, counted from 0, and
    /// all later ones.
    pub fn fail_disk(self, operation: Operation, nth: u64, errno: Errno) {
        with(|state, _| state.disk(self.0).fail(operation, nth, errno));
    }

    /// Holds up all packets between two processes for a time. Then all of them arrive, as by TCP's
    /// retransmissions.
    pub fn cut(self, other: Self, time: Duration) {
        self.cut_to(other, time);
        other.cut_to(self, time);
    }

    /// Holds up all packets from this process to another one for a time. Packets of the other one
    /// arrive here, but it hears of no acknowledgement.
    pub fn cut_to(self, other: Self, time: Duration) {
        with(|state, now_ns| {
            let until_ns = now_ns.saturating_add(nanoseconds(time));
            state.network.cut(self.0, other.0, now_ns, until_ns);
        });
    }

    /// Breaks the connections between two processes; other ones can be opened at once.
    pub fn break_connections(self, other: Self) {
        with(|state, now_ns| state.network.break_all(self.0, other.0, now_ns));
    }

    /// Changes a bit of what this process sends to another one, after `after` further bytes: as its
    /// memory would, or a switch whose memory is bad.
    pub fn flip_to(self, other: Self, after: u64) {
        with(|state, _| state.network.flip(self.0, other.0, after));
    }

    /// Suspends the machine of the process for a time, in which its monotonic clock stands still
    /// and its kernel answers nothing. A process that stands still already is left alone.
    pub fn suspend(self, time: Duration) {
        with(|state, now_ns| {
            if state.tasks.is_stopped(self.0, now_ns) {
                return;
            }
            let time_ns = nanoseconds(time);
            state.tasks.suspend(self.0, now_ns + time_ns, time_ns);
            *state.stood_ns.entry(self.0).or_default() += time_ns;
            for other in (0..state.processes.len()).filter(|other| *other != self.0) {
                state.network.cut(self.0, other, now_ns, now_ns + time_ns);
                state.network.cut(other, self.0, now_ns, now_ns + time_ns);
            }
        });
    }

    /// Sets the wall clock of the process forward by this number of seconds, or back.
    pub fn set_wall_clock(self, by_s: i64) {
        with(|state, _| *state.wall_s.entry(self.0).or_default() += by_s);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX >> 1)
}

fn current() -> Option<Rc<World>> {
    WORLD.with_borrow(Clone::clone)
}

fn with<T>(act: impl FnOnce(&mut State, u64) -> T) -> Option<T> {
    let world = current()?;
    let result = act(&mut world.state.borrow_mut(), world.now_ns.get());
    Some(result)
}

impl State {
    fn disk(&mut self, process: ProcessId) -> &mut Disk {
        self.disks.entry(process).or_default()
    }

    fn power_off(&mut self, process: ProcessId, survival: Survival, now_ns: u64) {
        self.tasks.stop(process, None);
        self.network.end(process, true, now_ns);
        self.disks.entry(process).or_default().lose_power(survival, &mut self.random);
    }

    fn add(
        &mut self,
        name: &str,
        process: ProcessId,
        work: impl FnOnce() + 'static,
    ) -> io::Result<u64> {
        self.tasks.add(name, process, |suspend| {
            with(|state, _| state.tasks.began(suspend));
            work();
        })
    }
}

impl World {
    /// Runs threads until the first one, which runs `work`, has ended.
    fn drive(&self, work: impl FnOnce() + 'static) {
        let first = self.state.borrow_mut().add("main", 0, work).expect("memory for a stack");
        let mut steps = 0;
        while !self.state.borrow().tasks.has_ended(first) {
            let chosen = {
                let state = &mut *self.state.borrow_mut();
                state.tasks.choose(self.now_ns.get(), &mut state.random)
            };
            steps += 1;
            let Some(mut chosen) = chosen else {
                steps = 0;
                if !self.look() {
                    self.pass_time();
                }
                continue;
            };
            self.now_ns.set(self.now_ns.get() + STEP_NS);
            let resumed = chosen.coroutine.resume(chosen.resumed);
            let mut state = self.state.borrow_mut();
            match resumed {
                CoroutineResult::Yield(()) => state.tasks.put_back(chosen),
                CoroutineResult::Return(()) => state.tasks.ended(chosen.id),
            }
            drop(state);
            if steps % STEPS == 0 {
                self.look();
            }
        }
    }

    /// Looks which descriptors are ready, for threads and for the network. Returns whether any is.
    fn look(&self) -> bool {
        let now_ns = self.now_ns.get();
        let state = &mut *self.state.borrow_mut();
        let mut any = state.network.deliver(now_ns);
        let waiting: Vec<_> = state.tasks.descriptors().collect();
        let wires: Vec<_> = state.network.descriptors().collect();
        let mut polled: Vec<PollFd<'_>> = Vec::with_capacity(waiting.len() + wires.len());
        polled.extend(waiting.iter().map(|(_, fd, flags)| {
            // SAFETY: the thread that waits for this descriptor has borrowed it for its wait, which
            // lasts beyond this function: no other thread runs in it.
            PollFd::from_borrowed_fd(unsafe { BorrowedFd::borrow_raw(*fd) }, *flags)
        }));
        polled.extend(wires.iter().map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)));
        poll_now(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("poll(2) works");
        let flags: Vec<PollFlags> = polled.iter().map(PollFd::revents).collect();
        drop(polled);
        let ends: Vec<u64> = wires.into_iter().map(|(id, ..)| id).collect();
        for ((task, ..), flags) in waiting.iter().zip(&flags) {
            if !flags.is_empty() {
                state.tasks.descriptor_is_ready(*task);
                any = true;
            }
        }
        for (end, flags) in ends.into_iter().zip(&flags[waiting.len()..]) {
            if !flags.is_empty() {
                state.network.ready(end, *flags, now_ns, &mut state.random);
                any = true;
            }
        }
        any
    }

    /// Sets the clock to the next moment at which something happens.
    fn pass_time(&self) {
        let mut state = self.state.borrow_mut();
        let next_ns = state.tasks.next_ns().into_iter().chain(state.network.next_ns()).min();
        let patient_ns =
            state.tasks.any_waits_for_others().then(|| self.now_ns.get() + PATIENCE_NS);
        let next_ns = next_ns.or(patient_ns);
        let is_over = next_ns.is_none_or(|at| at > BEGINNING_NS + nanoseconds(MAX_WORLD_TIME));
        if is_over {
            let names = state.processes.join(" ");
            let waits = state.tasks.describe();
            drop(state);
            panic!("the world hangs; its processes: {names}\n{waits}");
        }
        let now_ns = self.now_ns.get().max(next_ns.unwrap_or(0));
        self.now_ns.set(now_ns);
        state.tasks.expire(now_ns);
    }

    /// Returns the monotonic clock of the running process in nanoseconds.
    fn monotonic_ns(&self) -> u64 {
        let state = self.state.borrow();
        self.now_ns.get() - state.stood_ns.get(&state.tasks.process()).copied().unwrap_or(0)
    }

    /// Returns the wall clock of the running process in nanoseconds.
    fn wall_ns(&self) -> u64 {
        let state = self.state.borrow();
        let error_s = state.wall_s.get(&state.tasks.process()).copied().unwrap_or(0);
        self.now_ns.get().saturating_add_signed(error_s.saturating_mul(1_000_000_000))
    }

    /// Makes the calling thread wait. Returns whether what it waited for has happened.
    fn wait(&self, wait: Wait, time: Option<Duration>) -> bool {
        if self.is_over.get() {
            return false;
        }
        let until_ns = time.map(|time| self.now_ns.get().saturating_add(nanoseconds(time)));
        let suspend = self.state.borrow_mut().tasks.wait(wait, until_ns);
        // SAFETY: the pointer was taken from the reference that the running coroutine was given for
        // as long as it runs; it is this coroutine that calls.
        let resumed = unsafe { &*suspend }.suspend(());
        resumed == Resumed::Woken
    }
}

/// Returns whether the calling thread belongs to a world.
pub(crate) fn inside() -> bool {
    WORLD.with_borrow(Option::is_some)
}

/// Returns whether the calling thread's world is taken down: nothing waits in it any more.
pub(crate) fn is_over() -> bool {
    current().is_some_and(|world| world.is_over.get())
}

/// Returns a clock of the calling thread's process in nanoseconds; `None` outside of a world.
pub(crate) fn now_ns(clock: ClockId) -> Option<u64> {
    WORLD.with_borrow(|world| {
        let world = world.as_ref()?;
        world.now_ns.set(world.now_ns.get() + READING_NS);
        Some(match clock {
            ClockId::Realtime => world.wall_ns(),
            ClockId::Boottime => world.now_ns.get(),
            _ => world.monotonic_ns(),
        })
    })
}

/// Fills `bytes` with the world's random numbers. Returns false outside of a world.
pub(crate) fn fill(bytes: &mut [u8]) -> bool {
    with(|state, _| bytes.fill_with(|| state.random.bits() as u8)).is_some()
}

/// Waits as long as a call of the disk takes. Fails if the call does.
pub(crate) fn use_disk(operation: Operation) -> Result<(), Errno> {
    let time_ns = with(|state, _| state.random.below(DISK_NS));
    let Some(time_ns) = time_ns else { return Ok(()) };
    sleep(Duration::from_nanos(time_ns));
    let call = with(|state, now_ns| {
        let process = state.tasks.process();
        let call = state.disk(process).call(operation);
        if let DiskEvent::PowerFails(survival) = call {
            state.power_off(process, survival, now_ns);
        }
        call
    });
    match call {
        None | Some(DiskEvent::Works) => Ok(()),
        Some(DiskEvent::Fails(errno)) => Err(errno),
        Some(DiskEvent::PowerFails(_)) => {
            // This thread never runs again; until the world is over.
            sleep(MAX_WORLD_TIME);
            Err(Errno::IO)
        }
    }
}

/// Returns what a sync of a file that begins now makes stable, or of everything if there is none.
pub(crate) fn look_at_disk(file: Option<BorrowedFd<'_>>) -> Option<Stable> {
    with(|state, _| {
        let process = state.tasks.process();
        state.disk(process).look(file)
    })
    .flatten()
}

/// Notes that a sync has made this stable.
pub(crate) fn is_stable(stable: Option<Stable>) {
    with(|state, _| {
        let process = state.tasks.process();
        stable.into_iter().for_each(|stable| state.disk(process).add(stable));
    });
}

/// Wakes the threads that wait for `key`.
pub(crate) fn wake(key: usize) {
    with(|state, _| state.tasks.wake(key));
}

/// Waits for a time.
pub(crate) fn sleep(time: Duration) {
    // Nothing is woken by this key, since nothing has this address.
    wait(0, Some(time));
}

/// Waits until `key` is woken or the time is up. Returns whether it was woken.
pub(crate) fn wait(key: usize, time: Option<Duration>) -> bool {
    current().is_some_and(|world| world.wait(Wait::Key(key), time))
}

/// Waits until another thread has run.
pub(crate) fn give_way() {
    if let Some(world) = current() {
        world.wait(Wait::Others, None);
    }
}

/// Waits for descriptors as poll(2) does; `events` returns what to wait for of each.
pub(crate) fn poll(
    fds: &mut [PollFd<'_>],
    events: impl Fn(usize) -> PollFlags,
    time: Option<Duration>,
) -> io::Result<usize> {
    let Some(world) = current() else { return Ok(0) };
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    world.wait(Wait::Nothing, None);
    let until_ns = time.map(|time| world.monotonic_ns().saturating_add(nanoseconds(time)));
    loop {
        let ready = poll_now(fds, Some(&now))?;
        let left = until_ns.map(|until| until.saturating_sub(world.monotonic_ns()));
        if ready > 0 || left == Some(0) || world.is_over.get() {
            return Ok(ready);
        }
        let numbers = fds.iter().map(|fd| fd.as_fd().as_raw_fd());
        let waited = numbers.enumerate().map(|(at, fd)| (fd, events(at))).collect();
        world.wait(Wait::Descriptors(waited), left.map(Duration::from_nanos));
    }
}

/// The handle of a simulated thread.
#[derive(Debug)]
pub(crate) struct Task<T>(Arc<Outcome<T>>);

#[derive(Debug)]
struct Outcome<T> {
    result: Mutex<Option<T>>,
    is_finished: AtomicBool,
}

impl<T> Task<T> {
    fn key(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.0.is_finished.load(Ordering::Acquire)
    }

    /// Waits until the thread has ended. Returns `None` if the world is taken down before.
    pub(crate) fn join(self) -> Option<T> {
        while !self.is_finished() {
            if current().is_none_or(|world| world.is_over.get()) {
                return None;
            }
            wait(self.key(), None);
        }
        self.0.result.lock().take()
    }
}

/// Starts a thread of the calling thread's process.
///
/// # Errors
/// Outside of a world, where `work` is returned.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Task<T>, impl FnOnce() -> T + Send + 'static> {
    let Some(world) = current() else { return Err(work) };
    let outcome = Outcome { result: Mutex::new(None), is_finished: AtomicBool::new(false) };
    let task = Task(Arc::new(outcome));
    let its = Arc::clone(&task.0);
    let key = task.key();
    let mut state = world.state.borrow_mut();
    let process = state.tasks.process();
    let started = state.add(name, process, move || {
        let result = work();
        *its.result.lock() = Some(result);
        its.is_finished.store(true, Ordering::Release);
        wake(key);
    });
    started.expect("memory for a stack");
    Ok(task)
}

/// A simulated listener. Its descriptor is readable while connections wait to be accepted.
#[derive(Debug)]
pub(crate) struct Listener {
    port: Port,
    counter: Arc<OwnedFd>,
}

/// Returns whether a simulated connection broke, instead of being closed.
pub(crate) fn is_broken(ends: &Ends) -> bool {
    with(|state, _| state.network.is_broken(ends)).unwrap_or_default()
}

/// Returns what the kernel tells of a simulated connection.
pub(crate) fn info(ends: &Ends) -> Answers {
    with(|state, now_ns| state.network.info(ends, now_ns)).unwrap_or_default()
}

/// Returns the two addresses of a simulated connection: ours, and the other end's.
pub(crate) fn addresses(ends: &Ends) -> (SocketAddr, SocketAddr) {
    (ends.0, ends.1)
}

impl Listener {
    /// Accepts a connection that waits for it; fails with `WouldBlock` if there is none.
    pub(crate) fn accept(&self) -> io::Result<(TcpStream, Ends)> {
        let held = with(|state, _| state.network.accept(self.port)).flatten();
        let (socket, ours, theirs) = held.ok_or(io::ErrorKind::WouldBlock)?;
        Ok((TcpStream::from(socket), Ends(ours, theirs)))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((network::address_of(self.port.0), self.port.1))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.counter.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        with(|state, _| state.network.close(self.port));
    }
}

/// Listens on a port of the calling thread's process; `None` outside of a world.
pub(crate) fn listen(port: u16) -> Option<io::Result<Listener>> {
    let listening = with(|state, _| {
        let process = state.tasks.process();
        state.network.listen(process, port)
    })?;
    Some(listening.map(|(port, counter)| Listener { port, counter }))
}

/// Connects to a listener; `None` outside of a world.
pub(crate) fn connect(
    address: SocketAddr,
    timeout: Duration,
) -> Option<io::Result<(TcpStream, Ends)>> {
    let world = current()?;
    let travel = |state: &mut State, now_ns: u64| {
        let from = state.tasks.process();
        let to = state.network.find(address).map_or(usize::MAX, |(process, _)| process);
        let there_ns = state.network.arrival_ns(from, to, now_ns, &mut state.random);
        let back_ns = state.network.arrival_ns(to, from, there_ns, &mut state.random);
        back_ns - now_ns
    };
    let round_trip = Duration::from_nanos(with(travel)?);
    let is_off = with(|state, _| state.network.is_off(address))?;
    let answer = if is_off { Duration::MAX } else { round_trip };
    sleep(answer.min(timeout));
    if answer > timeout {
        return Some(Err(io::ErrorKind::TimedOut.into()));
    }
    let connected = {
        let state = &mut *world.state.borrow_mut();
        let from = state.tasks.process();
        let to = state.network.find(address);
        to.map(|to| state.network.connect(from, to))
    };
    let Some(connected) = connected else {
        return Some(Err(io::ErrorKind::ConnectionRefused.into()));
    };
    Some(connected.map(|(socket, ours, theirs)| (TcpStream::from(socket), Ends(ours, theirs))))
}

#[cfg(test)]
mod tests;

//! The threads of a simulated world: coroutines, of which one runs at a time.

use std::collections::BTreeMap;
use std::os::fd::RawFd;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use rustix::event::PollFlags;

use super::random::Random;

/// The size of a thread's stack in bytes. Only the pages that it touches are in memory.
const STACK: usize = 1 << 20;

/// The number of a thread, in order of their starts.
pub(super) type TaskId = u64;

/// The number of a process.
pub(super) type ProcessId = usize;

/// Why a thread runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resumed {
    /// What it waited for has happened.
    Woken,
    /// Its time is up.
    Expired,
}

pub(super) type Suspend = Yielder<Resumed, ()>;

/// What a thread waits for.
#[derive(Clone, Debug)]
pub(super) enum Wait {
    /// That [`Tasks::wake`] is called with this key: the address of a condition, queue or thread.
    Key(usize),
    /// That one of these descriptors is ready.
    Descriptors(Vec<(RawFd, PollFlags)>),
    /// That another thread has run, for example to unlock a mutex.
    Others,
    /// Nothing: it is ready, and another thread may run first.
    Nothing,
}

struct Task {
    name: String,
    process: ProcessId,
    coroutine: Option<Coroutine<Resumed, (), (), DefaultStack>>,
    suspend: *const Suspend,
    wait: Wait,
    until_ns: Option<u64>,
    ready: Option<Resumed>,
}

/// All threads that have not ended.
#[derive(Default)]
pub(super) struct Tasks {
    all: BTreeMap<TaskId, Task>,
    next: TaskId,
    current: TaskId,
    /// Processes whose threads don't run: until this time, or for ever.
    stopped: BTreeMap<ProcessId, Option<u64>>,
}

/// A thread that has been chosen to run.
pub(super) struct Chosen {
    pub(super) id: TaskId,
    pub(super) coroutine: Coroutine<Resumed, (), (), DefaultStack>,
    pub(super) resumed: Resumed,
}

impl Tasks {
    /// Adds a thread, which is ready to run.
    pub(super) fn add(
        &mut self,
        name: &str,
        process: ProcessId,
        work: impl FnOnce(&Suspend) + 'static,
    ) -> std::io::Result<TaskId> {
        let stack = DefaultStack::new(STACK)?;
        // What a thread begins with may be larger than what is moved to a new stack (1 KiB).
        let work: Box<dyn FnOnce(&Suspend)> = Box::new(work);
        let coroutine = Coroutine::with_stack(stack, |suspend: &Suspend, _| work(suspend));
        self.next += 1;
        let task = Task {
            name: name.to_owned(),
            process,
            coroutine: Some(coroutine),
            suspend: std::ptr::null(),
            wait: Wait::Others,
            until_ns: None,
            ready: Some(Resumed::Woken),
        };
        self.all.insert(self.next, task);
        Ok(self.next)
    }

    /// Notes how the running thread is suspended.
    pub(super) fn began(&mut self, suspend: *const Suspend) {
        self.running().suspend = suspend;
    }

    /// Returns the process of the running thread.
    pub(super) fn process(&self) -> ProcessId {
        self.all.get(&self.current).map_or(0, |task| task.process)
    }

    /// Makes the running thread wait. Returns how it is suspended.
    pub(super) fn wait(&mut self, wait: Wait, until_ns: Option<u64>) -> *const Suspend {
        let task = self.running();
        task.ready = matches!(wait, Wait::Nothing).then_some(Resumed::Woken);
        (task.wait, task.until_ns) = (wait, until_ns);
        task.suspend
    }

    fn running(&mut self) -> &mut Task {
        self.all.get_mut(&self.current).expect("a thread of the world runs")
    }

    /// Makes all threads ready that wait for `key`.
    pub(super) fn wake(&mut self, key: usize) {
        for task in self.all.values_mut() {
            if matches!(task.wait, Wait::Key(its) if its == key) {
                task.ready.get_or_insert(Resumed::Woken);
            }
        }
    }

    /// Chooses a ready thread at random.
    pub(super) fn choose(&mut self, now_ns: u64, random: &mut Random) -> Option<Chosen> {
        self.stopped.retain(|_, until| until.is_none_or(|until| until > now_ns));
        let may_run = |task: &Task| !self.stopped.contains_key(&task.process);
        let ready = self.all.iter().filter(|(_, task)| task.ready.is_some() && may_run(task));
        let ready: Vec<TaskId> = ready.map(|(id, _)| *id).collect();
        let id = *ready.get(random.below(ready.len() as u64) as usize)?;
        let task = self.all.get_mut(&id)?;
        let resumed = task.ready.take()?;
        let coroutine = task.coroutine.take()?;
        self.current = id;
        Some(Chosen { id, coroutine, resumed })
    }

    /// Puts back a thread that has run and waits now. Threads that waited for others to run are
    /// ready.
    pub(super) fn put_back(&mut self, chosen: Chosen) {
        if let Some(task) = self.all.get_mut(&chosen.id) {
            task.coroutine = Some(chosen.coroutine);
        }
        self.others_ran(chosen.id);
    }

    /// Removes a thread that has ended.
    pub(super) fn ended(&mut self, id: TaskId) {
        self.all.remove(&id);
        self.others_ran(id);
    }

    fn others_ran(&mut self, ran: TaskId) {
        for (id, task) in &mut self.all {
            if *id != ran && matches!(task.wait, Wait::Others) {
                task.ready.get_or_insert(Resumed::Woken);
            }
        }
    }

    /// Makes the threads ready whose time is up. Those that waited for others to run try again,
    /// too.
    pub(super) fn expire(&mut self, now_ns: u64) {
        for task in self.all.values_mut() {
            let is_up = task.until_ns.is_some_and(|until| until <= now_ns);
            if is_up || matches!(task.wait, Wait::Others) {
                task.ready.get_or_insert(if is_up { Resumed::Expired } else { Resumed::Woken });
            }
        }
    }

    /// Returns the next time at which a thread that may run is ready: its wait ends, or its process
    /// goes on.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let waits = self.all.values().filter(|task| !self.stopped.contains_key(&task.process));
        let waits = waits.filter_map(|task| task.until_ns.filter(|_| task.ready.is_none()));
        waits.chain(self.stopped.values().filter_map(|until| *until)).min()
    }

    /// Returns whether a thread that may run waits for others to run.
    pub(super) fn any_waits_for_others(&self) -> bool {
        let mut waits = self.all.values().filter(|task| !self.stopped.contains_key(&task.process));
        waits.any(|task| matches!(task.wait, Wait::Others) && task.ready.is_none())
    }

    /// Returns the descriptors that threads wait for, each with its thread.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = (TaskId, RawFd, PollFlags)> {
        let waiting = self.all.iter().filter(|(_, task)| task.ready.is_none());
        waiting.flat_map(|(id, task)| {
            let descriptors = match &task.wait {
                Wait::Descriptors(all) => &all[..],
                Wait::Key(_) | Wait::Others | Wait::Nothing => &[],
            };
            descriptors.iter().map(|(fd, flags)| (*id, *fd, *flags))
        })
    }

    /// Makes a thread ready, one of whose descriptors is ready.
    pub(super) fn descriptor_is_ready(&mut self, id: TaskId) {
        if let Some(task) = self.all.get_mut(&id) {
            task.ready.get_or_insert(Resumed::Woken);
        }
    }

    /// Stops the threads of a process until a time, or for ever. A process that stands still for
    /// longer already is left alone.
    pub(super) fn stop(&mut self, process: ProcessId, until_ns: Option<u64>) {
        let until = self.stopped.entry(process).or_insert(until_ns);
        *until = until.zip(until_ns).map(|(one, other)| one.max(other));
    }

    /// Returns whether the threads of a process don't run now.
    pub(super) fn is_stopped(&self, process: ProcessId, now_ns: u64) -> bool {
        self.stopped.get(&process).is_some_and(|until| until.is_none_or(|until| until > now_ns))
    }

    /// Stops the threads of a process until a time; what they wait for comes as much later as its
    /// clock stands still.
    pub(super) fn suspend(&mut self, process: ProcessId, until_ns: u64, time_ns: u64) {
        self.stop(process, Some(until_ns));
        let its = self.all.values_mut().filter(|task| task.process == process);
        its.filter_map(|task| task.until_ns.as_mut()).for_each(|until| *until += time_ns);
    }

    /// Returns whether the threads of a process never run again.
    pub(super) fn is_gone(&self, process: ProcessId) -> bool {
        self.stopped.get(&process).is_some_and(Option::is_none)
    }

    /// Returns whether a thread has ended.
    pub(super) fn has_ended(&self, id: TaskId) -> bool {
        !self.all.contains_key(&id)
    }

    /// Removes all threads, which have to be dropped outside of the world's state: what is on
    /// their stacks may ask for it.
    pub(super) fn take_all(&mut self) -> Vec<Coroutine<Resumed, (), (), DefaultStack>> {
        std::mem::take(&mut self.all).into_values().filter_map(|task| task.coroutine).collect()
    }

    /// Describes what every thread waits for.
    pub(super) fn describe(&self) -> String {
        let line = |task: &Task| {
            format!("process {} thread {}: {:?}\n", task.process, task.name, task.wait)
        };
        self.all.values().map(line).collect()
    }
}

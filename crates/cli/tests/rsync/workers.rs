//! Processes side by side that play batches.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::thread;
use std::time::Duration;

use garland_sys::clock;
use parking_lot::Mutex;

use crate::batch::Batch;
use crate::disks::Disk;
use crate::tally::Tally;

/// The processes for each processor: a round waits for disks half of its time.
const WORKERS_PER_PROCESSOR: usize = 2;

/// What is done, and what is not.
struct State {
    waiting: VecDeque<Batch>,
    /// The first rounds of those that are being played.
    running: BTreeSet<u64>,
    done: BTreeMap<Disk, Tally>,
    rounds: u64,
    began_ns: u64,
}

/// Plays `batches` by the test `name` in processes of their own, and prints what is done after each
/// and in the end.
///
/// # Panics
/// When there was a fault.
pub fn play(name: &str, batches: Vec<Batch>) {
    let rounds = batches.iter().map(|batch| batch.end - batch.first).sum();
    let state = Mutex::new(State {
        waiting: batches.into(),
        running: BTreeSet::new(),
        done: BTreeMap::new(),
        rounds,
        began_ns: clock::now_ns(),
    });
    let workers = WORKERS_PER_PROCESSOR * thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| work(name, &state));
        }
    });
    let state = state.into_inner();
    for (disk, tally) in &state.done {
        println!("{disk:?}: {tally}");
    }
    let total = state.total();
    println!("{total} in {:.0} s", state.elapsed().as_secs_f64());
    assert_eq!(total.faults, 0, "what differs is above");
}

fn work(name: &str, state: &Mutex<State>) {
    loop {
        let Some(batch) = state.lock().begin() else {
            return;
        };
        let output = batch.command(name).output().expect("this program and unshare can be started");
        let out = String::from_utf8_lossy(&output.stdout);
        let tally = Tally::find(&out);
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            println!("{batch:?}: {}\n{out}{error}", output.status);
            println!("a round alone: cargo xtask soak rsync --seed {} --round R", batch.seed);
        }
        // Without a tally it ended in its first round or before, or could not clean up.
        let tally = tally.filter(|tally| output.status.success() || tally.faults > 0);
        state.lock().end(batch, tally.unwrap_or(Tally { faults: 1, ..Tally::default() }));
    }
}

impl State {
    fn begin(&mut self) -> Option<Batch> {
        let batch = self.waiting.pop_front()?;
        self.running.insert(batch.first);
        Some(batch)
    }

    /// Notes what a batch ended with, and prints what is done.
    fn end(&mut self, batch: Batch, tally: Tally) {
        self.running.remove(&batch.first);
        *self.done.entry(batch.disk).or_default() += tally;
        let Tally { rounds, faults, .. } = self.total();
        let seconds = self.elapsed().as_secs_f64();
        let rate = rounds as f64 / seconds;
        let next = self.running.first().copied();
        let next = next.or_else(|| self.waiting.front().map(|batch| batch.first));
        let again = next.map_or_else(String::new, |next| {
            format!("; to go on: --seed {} --from {next}", batch.seed)
        });
        let of = self.rounds;
        println!(
            "{seconds:.0} s: {rounds} of {of} rounds, {rate:.1} a second, {faults} faults{again}"
        );
    }

    fn total(&self) -> Tally {
        let mut total = Tally::default();
        for tally in self.done.values() {
            total += *tally;
        }
        total
    }

    fn elapsed(&self) -> Duration {
        Duration::from_nanos(clock::now_ns() - self.began_ns)
    }
}

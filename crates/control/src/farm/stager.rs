//! Copies the files of jobs while other jobs run: one thread per node copies inputs to the node,
//! and one copies results back.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use garland_core::farm::Job;
use garland_sys::event::Wake;
use garland_sys::threads;

/// Copies the files of jobs.
pub trait Stager: Sync {
    /// Copies a job's inputs to its directory on the node. Returns the number of bytes.
    ///
    /// # Errors
    /// The reason, as text.
    fn bring(&self, node: usize, job: &Job) -> Result<u64, String>;

    /// Copies a job's results back; a file whose copy fails does not appear. Returns the number of
    /// bytes.
    ///
    /// # Errors
    /// The reason, as text.
    fn take_back(&self, node: usize, job: &Job) -> Result<u64, String>;
}

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the node.
    There,
    /// From the node.
    Back,
}

/// The transfer of a job's files.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The index of the node.
    pub node: usize,
    /// The index of the job.
    pub job: usize,
    /// The number of the try.
    pub tries: u32,
    /// The direction.
    pub way: Direction,
    /// The number of bytes, or why the transfer failed.
    pub moved: Result<u64, String>,
}

/// The transfer threads: their queues, and their results.
pub struct TransferThreads {
    orders: Vec<[Sender<(Transfer, Job)>; 2]>,
    done: Receiver<Transfer>,
}

impl TransferThreads {
    /// Starts the threads for `nodes` nodes. They raise `wake` after each transfer.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn begin<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        nodes: usize,
        stager: &'env dyn Stager,
        wake: &Arc<Wake>,
    ) -> io::Result<Self> {
        let (tell, done) = channel();
        let start = |way: Direction| {
            let (order, orders) = channel();
            let (tell, wake) = (tell.clone(), Arc::clone(wake));
            threads::spawn_in(scope, "stage", move || run(stager, way, &orders, &tell, &wake))?;
            io::Result::Ok(order)
        };
        let both = |_| Ok([start(Direction::There)?, start(Direction::Back)?]);
        let orders = (0..nodes).map(both).collect::<io::Result<_>>()?;
        Ok(Self { orders, done })
    }

    /// Queues a transfer.
    pub fn order(&self, transfer: Transfer, job: Job) {
        let [there, back] = &self.orders[transfer.node];
        let order = if transfer.way == Direction::There { there } else { back };
        // Cannot fail: the threads end with this value.
        let _ = order.send((transfer, job));
    }

    /// Returns the transfers that have ended since the last call.
    pub fn done(&self) -> impl Iterator<Item = Transfer> {
        self.done.try_iter()
    }
}

/// Executes queued transfers in one direction.
fn run(
    stager: &dyn Stager,
    way: Direction,
    orders: &Receiver<(Transfer, Job)>,
    tell: &Sender<Transfer>,
    wake: &Wake,
) {
    for (mut transfer, job) in orders {
        transfer.moved = match way {
            Direction::There => stager.bring(transfer.node, &job),
            Direction::Back => stager.take_back(transfer.node, &job),
        };
        if tell.send(transfer).is_err() {
            return;
        }
        wake.raise();
    }
}

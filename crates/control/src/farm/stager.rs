//! Files of jobs on their way, beside the jobs that run: for each node a thread that brings inputs, and
//! one that takes results back.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use garland_core::farm::Job;
use garland_sys::event::Wake;
use garland_sys::threads;

/// Moves the files of jobs.
pub trait Stager: Sync {
    /// Brings the job's inputs to its folder at the node; their bytes.
    ///
    /// # Errors
    /// Why that can't be, in words.
    fn bring(&self, node: usize, job: &Job) -> Result<u64, String>;

    /// Takes the job's results back, each whole or not at all; their bytes.
    ///
    /// # Errors
    /// Why that can't be, in words.
    fn take_back(&self, node: usize, job: &Job) -> Result<u64, String>;
}

/// Which way files go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the node.
    There,
    /// From it.
    Back,
}

/// A job whose files are to be moved, or have been.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The node's place.
    pub node: usize,
    /// The job's place.
    pub job: usize,
    /// Which of its tries it is for.
    pub tries: u32,
    /// Where to.
    pub way: Direction,
    /// What came of it.
    pub moved: Result<u64, String>,
}

/// The threads' orders, and what they have done.
pub struct Carrying {
    orders: Vec<[Sender<(Transfer, Job)>; 2]>,
    done: Receiver<Transfer>,
}

impl Carrying {
    /// Threads for so many nodes, which raise `wake` when something is done.
    ///
    /// # Errors
    /// When the system makes no more threads.
    pub fn begin<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        nodes: usize,
        carrier: &'env dyn Stager,
        wake: &Arc<Wake>,
    ) -> io::Result<Self> {
        let (tell, done) = channel();
        let start = |way: Direction| {
            let (order, orders) = channel();
            let (tell, wake) = (tell.clone(), Arc::clone(wake));
            threads::spawn_in(scope, "carry", move || carry(carrier, way, &orders, &tell, &wake))?;
            io::Result::Ok(order)
        };
        let both = |_| Ok([start(Direction::There)?, start(Direction::Back)?]);
        let orders = (0..nodes).map(both).collect::<io::Result<_>>()?;
        Ok(Self { orders, done })
    }

    /// Has a job's files moved.
    pub fn order(&self, load: Transfer, job: Job) {
        let [there, back] = &self.orders[load.node];
        let order = if load.way == Direction::There { there } else { back };
        // The threads end with this, and not before.
        let _ = order.send((load, job));
    }

    /// What has been done since the last time.
    pub fn done(&self) -> impl Iterator<Item = Transfer> {
        self.done.try_iter()
    }
}

fn carry(
    carrier: &dyn Stager,
    way: Direction,
    orders: &Receiver<(Transfer, Job)>,
    tell: &Sender<Transfer>,
    wake: &Wake,
) {
    for (mut load, job) in orders {
        load.moved = match way {
            Direction::There => carrier.bring(load.node, &job),
            Direction::Back => carrier.take_back(load.node, &job),
        };
        if tell.send(load).is_err() {
            return;
        }
        wake.raise();
    }
}

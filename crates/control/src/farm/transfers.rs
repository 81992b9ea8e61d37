//! Copies the files of jobs while other jobs run: one thread per node copies inputs to the node,
//! and one copies results back.

use std::io;
use std::sync::Arc;
use std::thread::Scope;
use std::time::Duration;

use garland_protocol::farm::dispatch::{Batch, Direction, Transfer, TransferFailure};
use garland_sys::channel::{Receiver, RecvTimeoutError, Sender, channel};
use garland_sys::event::Wake;
use garland_sys::signal::Interrupts;
use garland_sys::threads;

use super::stager::{Stager, StagerSession};

/// The interval at which an idle session is read, since its agent sends heartbeats.
const IDLE_READ_INTERVAL: Duration = Duration::from_secs(1);

/// A transfer with its result: the total length of its files in bytes, or why it failed.
type Moved = (Transfer, Result<u64, TransferFailure>);

/// The transfer threads: their queues, and their results. Dropping this cancels the copies that
/// run.
pub struct TransferThreads {
    nodes: Vec<NodeThreads>,
    done: Receiver<Vec<Moved>>,
}

/// The two transfer threads of a node.
struct NodeThreads {
    there: Sender<Transfer>,
    back: Sender<Transfer>,
    /// Ends the copies of both.
    cancellation: Arc<Interrupts>,
}

impl TransferThreads {
    /// Starts the threads for `nodes` nodes. They raise `wake` after each copy.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn begin<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        nodes: usize,
        stager: &'env Stager,
        wake: &Arc<Wake>,
    ) -> io::Result<Self> {
        let (tell, done) = channel();
        let start = |node, cancellation: &Arc<Interrupts>| {
            let (order, orders) = channel();
            let tell = tell.clone();
            let wake = Arc::clone(wake);
            let session = StagerSession::new(stager, node, Arc::clone(cancellation));
            threads::spawn_in(scope, "stage", move || run(session, &orders, &tell, &wake))?;
            io::Result::Ok(order)
        };
        // Made first, so that an error cancels what was started.
        let mut all = Self { nodes: Vec::new(), done };
        for node in 0..nodes {
            let cancellation = Arc::new(Interrupts::by_hand()?);
            let there = start(node, &cancellation)?;
            let back = start(node, &cancellation)?;
            all.nodes.push(NodeThreads { there, back, cancellation });
        }
        Ok(all)
    }

    /// Queues a transfer.
    pub fn order(&self, transfer: Transfer) {
        let node = &self.nodes[transfer.node];
        let order = if transfer.way == Direction::There { &node.there } else { &node.back };
        // Cannot fail: the threads end with this value.
        let _ = order.send(transfer);
    }

    /// Ends the transfers of a node, which gets no more jobs.
    pub fn cancel(&self, node: usize) {
        self.nodes[node].cancellation.raise();
    }

    /// Returns the transfers that have ended since the last call.
    pub fn done(&self) -> impl Iterator<Item = Moved> {
        self.done.try_iter().flatten()
    }
}

impl Drop for TransferThreads {
    fn drop(&mut self) {
        self.nodes.iter().for_each(|node| node.cancellation.raise());
    }
}

/// Executes queued transfers in one direction. Those that are queued during one copy are copied
/// together in the next.
fn run(
    mut session: StagerSession<'_>,
    orders: &Receiver<Transfer>,
    tell: &Sender<Vec<Moved>>,
    wake: &Wake,
) {
    loop {
        let first = match orders.recv_timeout(IDLE_READ_INTERVAL) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                session.refresh();
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut batch = Batch::new(first, orders.try_iter());
        session.transfer(&mut batch);
        if tell.send(batch.into_results().collect()).is_err() {
            return;
        }
        wake.raise();
    }
}

//! Copies the files of jobs while other jobs run: one thread per node copies inputs to the node,
//! and one copies results back.

use std::io;
use std::sync::Arc;
use std::thread::Scope;
use std::time::Duration;

use garland_protocol::dispatch::{Batch, Direction, Transfer};
use garland_sys::channel::{Receiver, RecvTimeoutError, Sender, channel};
use garland_sys::event::Wake;
use garland_sys::threads;

use super::stager::{Stager, StagerSession};

/// The interval at which an idle session is read, since its agent sends heartbeats.
const IDLE: Duration = Duration::from_secs(1);

/// A transfer with its result: the total length of its files in bytes, or why it failed.
type Moved = (Transfer, Result<u64, String>);

/// The transfer threads: their queues, and their results.
pub struct TransferThreads {
    orders: Vec<[Sender<Transfer>; 2]>,
    done: Receiver<Vec<Moved>>,
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
        let start = |node| {
            let (order, orders) = channel();
            let (tell, wake) = (tell.clone(), Arc::clone(wake));
            let session = StagerSession::new(stager, node);
            threads::spawn_in(scope, "stage", move || run(session, &orders, &tell, &wake))?;
            io::Result::Ok(order)
        };
        let both = |node| Ok([start(node)?, start(node)?]);
        let orders = (0..nodes).map(both).collect::<io::Result<_>>()?;
        Ok(Self { orders, done })
    }

    /// Queues a transfer.
    pub fn order(&self, transfer: Transfer) {
        let [there, back] = &self.orders[transfer.node];
        let order = if transfer.way == Direction::There { there } else { back };
        // Cannot fail: the threads end with this value.
        let _ = order.send(transfer);
    }

    /// Returns the transfers that have ended since the last call.
    pub fn done(&self) -> impl Iterator<Item = Moved> {
        self.done.try_iter().flatten()
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
        let first = match orders.recv_timeout(IDLE) {
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

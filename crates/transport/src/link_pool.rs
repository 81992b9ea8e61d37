//! Standing links: connections between neighbours that outlive their copy, so that the next copy
//! need not open new ones.
//!
//! A parked connection gives its peer no rights. The node that opened the connection leases it for
//! a new copy: it sends a greeting with the secret of that copy, as on a new connection, and the
//! peer expects the greeting. Only connections whose greeting succeeded, for a copy or for a
//! standing chain, are parked.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use garland_sys::socket::TcpStream;
use garland_sys::sync::Mutex;
use garland_sys::watch::Watch;
use garland_sys::{clock, event};

/// The maximum number of parked connections that this node opened, and the same for those that its
/// peers opened. If there are more, the oldest is closed.
const MAX_PARKED: usize = 64;

/// How often connections are checked for their age.
const AGE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The parked connections of a node. Each is closed when its peer closes it, after some time
/// without use, or, if this node opened it, when bytes arrive.
#[derive(Debug)]
pub struct LinkPool {
    watch: Watch,
    state: Mutex<State>,
    patience_ns: u64,
}

#[derive(Debug, Default)]
struct State {
    /// The parked connections, the oldest first.
    parked: Vec<Parked>,
    next: u64,
}

#[derive(Debug)]
struct Parked {
    number: u64,
    until_ns: u64,
    stream: TcpStream,
    /// The address of the peer if this node opened the connection; `None` if the peer opened it,
    /// and so only the peer may lease it.
    dialled: Option<SocketAddr>,
}

impl LinkPool {
    /// Returns an empty pool, whose connections are closed after `patience` without use.
    ///
    /// # Errors
    /// When the system has no file descriptors left.
    pub fn new(patience: Duration) -> std::io::Result<Self> {
        let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self { watch: Watch::new()?, state: Mutex::default(), patience_ns })
    }

    /// Parks an idle connection. `dialled` is the address of the peer if this node opened the
    /// connection, and `None` if the peer opened it.
    pub fn park(&self, stream: TcpStream, dialled: Option<SocketAddr>) {
        let mut state = self.state.lock();
        state.next += 1;
        let number = state.next;
        let until_ns = clock::now_ns().saturating_add(self.patience_ns);
        let same = |parked: &&Parked| parked.dialled.is_some() == dialled.is_some();
        if state.parked.iter().filter(same).count() >= MAX_PARKED
            && let Some(oldest) = state.parked.iter().find(same).map(|parked| parked.number)
        {
            self.take(&mut state, |parked| parked.number == oldest);
        }
        // A connection that cannot be watched is closed.
        if self.watch.add(&stream, number).is_ok() {
            state.parked.push(Parked { number, until_ns, stream, dialled });
        }
    }

    /// Takes the newest parked connection that this node opened to `address`; `None` if there is
    /// none. Connections that the peer has closed are skipped and dropped.
    pub fn lease(&self, address: SocketAddr) -> Option<TcpStream> {
        let mut state = self.state.lock();
        while let Some(parked) = self.take(&mut state, |parked| parked.dialled == Some(address)) {
            let ready = event::wait_readable(&[parked.stream.as_fd()], Some(Duration::ZERO));
            if ready.is_ok_and(|ready| ready == [false]) {
                return Some(parked.stream);
            }
        }
        None
    }

    /// Returns the number of parked connections that this node opened to `address`.
    pub fn count_to(&self, address: SocketAddr) -> usize {
        self.state.lock().parked.iter().filter(|parked| parked.dialled == Some(address)).count()
    }

    /// Returns the number of parked connections that this node opened.
    pub fn count(&self) -> usize {
        self.state.lock().parked.iter().filter(|parked| parked.dialled.is_some()).count()
    }

    /// Watches the parked connections until the process exits, or until watching fails. Calls
    /// `greet` with each connection that its peer opened and on which bytes arrive.
    pub fn attend(&self, greet: impl Fn(TcpStream)) {
        loop {
            let Ok(numbers) = self.watch.wait(AGE_CHECK_INTERVAL) else { return };
            for number in numbers {
                let spoken = self.take(&mut self.state.lock(), |parked| parked.number == number);
                let spoken = spoken.filter(|parked| parked.dialled.is_none());
                if let Some(Parked { stream, .. }) = spoken
                    && matches!(stream.peek(&mut [0]), Ok(1))
                {
                    greet(stream);
                }
            }
            let now = clock::now_ns();
            while self.take(&mut self.state.lock(), |parked| parked.until_ns <= now).is_some() {}
        }
    }

    fn take(&self, state: &mut State, which: impl Fn(&Parked) -> bool) -> Option<Parked> {
        // The newest first: its congestion window is the most recent one.
        let at = state.parked.iter().rposition(which)?;
        let parked = state.parked.remove(at);
        self.watch.remove(&parked.stream);
        Some(parked)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::*;

    fn pair() -> (SocketAddr, TcpStream, TcpStream) {
        let (near, far) = garland_sys::socket::pair().unwrap();
        (near.peer_addr().unwrap(), near, far)
    }

    fn until(link_pool: &LinkPool, count: usize) {
        while link_pool.state.lock().parked.len() != count {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_link_is_leased_once_and_only_to_its_address() {
        let link_pool = LinkPool::new(Duration::from_secs(60)).unwrap();
        let (address, near, _far) = pair();
        let (other, other_near, other_far) = pair();
        link_pool.park(near, Some(address));
        link_pool.park(other_near, Some(other));
        drop(other_far);
        assert_eq!((link_pool.count(), link_pool.count_to(address)), (2, 1));
        assert!(link_pool.lease(address).is_some());
        assert!(link_pool.lease(address).is_none());
        assert!(link_pool.lease(other).is_none(), "its peer has closed it");
    }

    #[test]
    fn connections_that_end_receive_unexpected_bytes_or_time_out_are_closed() {
        let link_pool = Arc::new(LinkPool::new(Duration::from_millis(300)).unwrap());
        let (greet, greeted) = channel();
        let attended = Arc::clone(&link_pool);
        std::thread::spawn(move || attended.attend(|stream| greet.send(stream).unwrap()));
        let [(_, closed, far_of_closed), (address, loud, mut far_of_loud), (_, came, mut guest)] =
            [pair(), pair(), pair()];
        link_pool.park(closed, None);
        link_pool.park(loud, Some(address));
        link_pool.park(came, None);
        drop(far_of_closed);
        far_of_loud.write_all(b"x").unwrap();
        guest.write_all(b"x").unwrap();
        assert!(greeted.recv_timeout(Duration::from_secs(60)).is_ok());
        until(&link_pool, 0);
        assert!(greeted.try_recv().is_err(), "only the guest is greeted");
        let (address, near, _far) = pair();
        link_pool.park(near, Some(address));
        until(&link_pool, 0);
    }

    #[test]
    fn a_full_pool_closes_its_oldest_connection() {
        let link_pool = LinkPool::new(Duration::from_secs(60)).unwrap();
        let pairs: Vec<_> = (0..=MAX_PARKED).map(|_| pair()).collect();
        let mut far = Vec::new();
        for (address, near, other) in pairs {
            link_pool.park(near, Some(address));
            far.push((address, other));
        }
        assert_eq!((link_pool.count(), link_pool.count_to(far[0].0)), (MAX_PARKED, 0));
    }
}

//! The handle of a lane's thread: sends commands to the thread, and can cut its links.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use garland_protocol::copy::{
    DOWNSTREAMS_MAX, HopReport, LaneReport, LinkSide, RelayEvent, Route, Taking, WireFacts,
};
use garland_sys::channel::{Receiver, Sender, channel};
use garland_sys::event::{self, Wake};
use garland_sys::socket::TcpStream;
use garland_sys::sync::Mutex;
use garland_sys::tcp_info::TcpInfo;

use super::Flow;

/// The maximum number of new connections that wait for a lane's thread: one for each node that a
/// node may feed, and some that come again. The thread takes none while it reads or sends a block.
const WAITING_LINKS_MAX: usize = DOWNSTREAMS_MAX + 8;

/// A command for a lane's thread.
pub enum LaneCommand {
    /// An event for the lane's relay machine.
    Event(RelayEvent),
    /// A new connection, with the side and the epoch of its link.
    Link(LinkSide, u32, TcpStream),
}

/// An open link of a lane.
#[derive(Clone, Debug)]
pub struct Link {
    /// Whether the link leads to the upstream or to a downstream.
    pub side: LinkSide,
    /// The epoch of the link, which distinguishes it from earlier ones on this side.
    pub epoch: u32,
    /// The index in the plan of the node at the other end.
    pub peer: u16,
    /// The connection.
    pub stream: Arc<TcpStream>,
    /// When the lane's thread took the link, in monotonic nanoseconds.
    pub opened_ns: u64,
}

/// The handle of a lane's thread.
pub struct LaneHandle {
    /// Whether this node is on the lane.
    pub is_used: bool,
    command: Sender<LaneCommand>,
    /// The number of connections in the queue of commands.
    waiting_links: AtomicUsize,
    /// Wakes the thread; raised with every command.
    pub wake: Wake,
    /// The open links. Only the lane's thread adds and removes links; other threads may cut them,
    /// which ends a transfer that hangs.
    links: Mutex<Vec<Link>>,
    /// How the receivers take what is sent over the links downstream, by epoch.
    taking: Mutex<BTreeMap<u32, Taking>>,
    /// Counts the bytes that the lane transfers, and measures its waits.
    pub flow: Arc<Flow>,
    /// The number of blocks received; on the source, the number of blocks sent.
    pub received: AtomicU64,
    /// Whether the upstream has reported the end of the lane.
    pub ended: AtomicBool,
    /// Whether the thread waits, and no more bytes of this copy will pass over its links. Such
    /// links are not cut when the copy ends.
    pub at_rest: AtomicBool,
}

impl LaneHandle {
    /// Returns the handle of a lane, and the receiver of its commands. `is_used` tells whether this
    /// node is on the lane.
    ///
    /// # Errors
    /// When the system has no file descriptors left.
    pub fn new(is_used: bool) -> std::io::Result<(Arc<Self>, Receiver<LaneCommand>)> {
        let (command, commands) = channel();
        let wake = Wake::new()?;
        let handle = Self {
            is_used,
            command,
            waiting_links: AtomicUsize::new(0),
            wake,
            links: Mutex::default(),
            taking: Mutex::default(),
            flow: Arc::default(),
            received: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            at_rest: AtomicBool::new(false),
        };
        Ok((Arc::new(handle), commands))
    }

    /// Sends a command to the thread and wakes it. A thread that has ended ignores it. A connection
    /// is closed if too many of them wait.
    pub fn post(&self, command: LaneCommand) {
        if let LaneCommand::Link(..) = command
            && self.waiting_links.fetch_add(1, Ordering::SeqCst) >= WAITING_LINKS_MAX
        {
            self.take_waiting_link();
            return;
        }
        let _ = self.command.send(command);
        self.wake.raise();
    }

    /// Notes that a connection has left the queue of commands.
    pub(crate) fn take_waiting_link(&self) {
        self.waiting_links.fetch_sub(1, Ordering::SeqCst);
    }

    /// Adds an open link. Closes it instead, and returns `false`, if there is one with the same
    /// side and epoch: a neighbour has one link at a time. A link whose other end has closed it is
    /// replaced: a neighbour whose greeting over a parked connection was not answered opens the
    /// link again.
    pub(crate) fn add(&self, link: Link) -> bool {
        let mut links = self.links.lock();
        let mut same = links.iter().filter(|it| (it.side, it.epoch) == (link.side, link.epoch));
        if same.any(|old| !is_at_end(&old.stream)) {
            return false;
        }
        links.retain(|old| (old.side, old.epoch) != (link.side, link.epoch));
        links.push(link);
        true
    }

    /// Removes and returns the open link of this side and epoch, if there is one.
    pub(crate) fn remove(&self, side: LinkSide, epoch: u32) -> Option<Link> {
        let mut links = self.links.lock();
        let at = links.iter().position(|link| (link.side, link.epoch) == (side, epoch))?;
        Some(links.remove(at))
    }

    /// Returns the open link of this side and epoch, if there is one.
    pub(crate) fn link(&self, side: LinkSide, epoch: u32) -> Option<Link> {
        let links = self.links.lock();
        links.iter().find(|link| (link.side, link.epoch) == (side, epoch)).cloned()
    }

    /// Returns the open links of one side.
    pub(crate) fn links(&self, side: LinkSide) -> Vec<Link> {
        let links = self.links.lock();
        links.iter().filter(|link| link.side == side).cloned().collect()
    }

    /// Calls `question` with the connection of every open link on one side. Returns, for each, the
    /// index in the plan of the node at the other end, and the answer.
    pub fn ask<T>(&self, side: LinkSide, question: impl Fn(&TcpStream) -> T) -> Vec<(u16, T)> {
        let links = self.links.lock();
        let used = links.iter().filter(|link| link.side == side);
        used.map(|link| (link.peer, question(&link.stream))).collect()
    }

    /// Returns the kernel's TCP statistics of the first open link downstream; none if there is no
    /// such link, or if it uses MPTCP.
    pub fn account(&self) -> Option<TcpInfo> {
        self.ask(LinkSide::Down, TcpInfo::read).into_iter().next()?.1.ok()
    }

    /// Returns the lane's part of a report at the time `now_ns`, in monotonic nanoseconds. Of links
    /// that use MPTCP nothing is known.
    pub fn report(&self, now_ns: u64) -> LaneReport {
        let links = self.links(LinkSide::Down);
        let hops: Vec<HopReport> = links.iter().filter_map(hop).collect();
        let hop = if let ([_], [hop]) = (&links[..], &hops[..]) { Some(*hop) } else { None };
        let mut taking = self.taking.lock();
        taking.retain(|epoch, _| hops.iter().any(|hop| hop.epoch == *epoch));
        let mut untaken = None;
        for hop in &hops {
            let its = taking.entry(hop.epoch).or_default();
            if its.note(now_ns, hop) {
                untaken = Some(hop.epoch);
            }
        }
        LaneReport { received: self.received.load(Ordering::Relaxed), hop, untaken }
    }

    /// Cuts each link downstream whose wire is dead.
    pub fn cut_silent(&self) {
        let facts = |info: &TcpInfo| {
            let unheard_ns = u64::try_from(info.unheard.as_nanos()).unwrap_or(u64::MAX);
            WireFacts { vain: info.vain, unheard_ns }
        };
        for link in self.links.lock().iter().filter(|link| link.side == LinkSide::Down) {
            if TcpInfo::read(&link.stream).is_ok_and(|info| facts(&info).is_dead()) {
                link.cut();
            }
        }
    }

    pub(super) fn cut_others(&self, route: &Route) {
        for link in self.links.lock().iter() {
            if route.peer(link.side, link.epoch).is_none() {
                link.cut();
            }
        }
    }

    /// Cuts the links unless the thread is at rest, and wakes the thread.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.is_used || self.at_rest.load(Ordering::SeqCst)
    }

    pub(super) fn close(&self) {
        if !self.at_rest.load(Ordering::SeqCst) {
            self.links.lock().iter().for_each(Link::cut);
        }
        self.wake.raise();
    }
}

/// Returns whether nothing can arrive over a connection any more, because the other end has closed
/// it or it is broken.
pub(crate) fn is_at_end(stream: &TcpStream) -> bool {
    match event::wait_readable(&[stream.as_fd()], Some(Duration::ZERO)).as_deref() {
        Ok([true]) => !matches!(stream.peek(&mut [0]), Ok(1..)),
        Ok(_) => false,
        Err(_) => true,
    }
}

/// Returns the statistics of a link; none if it uses MPTCP.
fn hop(link: &Link) -> Option<HopReport> {
    let info = TcpInfo::read(&link.stream).ok()?;
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Some(HopReport {
        epoch: link.epoch,
        sent: info.acknowledged,
        busy_ns: ns(info.busy),
        blocked_ns: ns(info.window_limited),
    })
}

impl Link {
    fn cut(&self) {
        // Fails if the link is broken already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Returns a link of epoch 7 on the side `side`, and the neighbour's end of it.
    fn link(side: LinkSide) -> (Link, std::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let far = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = Arc::new(TcpStream::from(listener.accept().unwrap().0));
        (Link { side, epoch: 7, peer: 1, stream, opened_ns: 0 }, far)
    }

    #[test]
    fn few_connections_wait_for_a_lane_that_is_busy() {
        let (handle, commands) = LaneHandle::new(true).unwrap();
        let post = || {
            let stream = Arc::into_inner(link(LinkSide::Up).0.stream).unwrap();
            handle.post(LaneCommand::Link(LinkSide::Up, 7, stream));
        };
        (0..2 * WAITING_LINKS_MAX).for_each(|_| post());
        // Events are no connections.
        handle.post(LaneCommand::Event(RelayEvent::Fed(0)));
        let waiting = commands.try_iter().count();
        assert_eq!(waiting, WAITING_LINKS_MAX + 1);
        (0..WAITING_LINKS_MAX).for_each(|_| handle.take_waiting_link());
        post();
        assert_eq!(commands.try_iter().count(), 1, "there is room again");
    }

    #[test]
    fn a_newcomer_takes_the_place_of_a_link_only_if_its_neighbour_has_closed_it() {
        let (handle, _commands) = LaneHandle::new(true).unwrap();
        let (first, neighbour) = link(LinkSide::Up);
        let its_port = |link: &Link| link.stream.peer_addr().unwrap().port();
        let port = its_port(&first);
        assert!(handle.add(first));
        let (second, _intruder) = link(LinkSide::Up);
        assert!(!handle.add(second), "the link is in use");
        assert_eq!(its_port(&handle.link(LinkSide::Up, 7).unwrap()), port);
        assert!(handle.add(link(LinkSide::Down).0), "the other side has epochs of its own");
        // As after a greeting that was not answered.
        drop(neighbour);
        let old = handle.link(LinkSide::Up, 7).unwrap();
        event::wait_readable(&[old.stream.as_fd()], None).unwrap();
        let (third, _again) = link(LinkSide::Up);
        let port = its_port(&third);
        assert!(handle.add(third));
        assert_eq!(its_port(&handle.link(LinkSide::Up, 7).unwrap()), port);
        assert_eq!(handle.links(LinkSide::Up).len(), 1);
    }
}

//! The handle of a lane's thread: sends commands to the thread, and can cut its links.

use parking_lot::Mutex;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use garland_core::plan::LaneBlocks;
use garland_protocol::{HopReport, LinkSide, RelayEvent, Route};
use garland_sys::event::Wake;
use garland_sys::tcp_info::TcpInfo;

use super::Flow;
use crate::recorder::peer_index;

/// A link is silent if nothing was received for this long and [`VAIN`] retransmissions failed.
const UNHEARD: Duration = Duration::from_millis(1500);

/// The number of consecutive retransmissions in vain after which a link may be silent.
const VAIN: u8 = 2;

/// A command for a lane's thread.
pub enum LaneCommand {
    /// An event for the lane's relay machine.
    Event(RelayEvent),
    /// A new link on this side, with this epoch.
    Link(LinkSide, u32, TcpStream),
}

/// A link of the lane's route.
struct Link {
    side: LinkSide,
    epoch: u32,
    /// The index in the plan of the other node.
    peer: u16,
    /// A duplicate descriptor while the link is in use, to cut a transfer that hangs in it.
    stream: Option<TcpStream>,
}

/// The handle of a lane's thread.
pub struct LaneHandle {
    blocks: LaneBlocks,
    command: Sender<LaneCommand>,
    /// Raised with every command.
    pub wake: Wake,
    links: Mutex<Vec<Link>>,
    /// Counts the bytes that the lane transfers, and measures its waits.
    pub flow: Arc<Flow>,
    /// The number of blocks received; on the source, the number of blocks sent.
    pub received: AtomicU64,
    /// Whether the upstream has reported the end of the lane.
    pub ended: AtomicBool,
    /// Whether the thread waits, and its links are idle and stay idle, so that they need not be
    /// cut.
    pub at_rest: AtomicBool,
}

impl LaneHandle {
    /// Returns the handle of a lane with these blocks, and the receiver of its commands.
    ///
    /// # Errors
    /// When the system has no file descriptors left.
    pub fn new(blocks: LaneBlocks) -> std::io::Result<(Arc<Self>, Receiver<LaneCommand>)> {
        let (command, commands) = channel();
        let wake = Wake::new()?;
        let handle = Self {
            blocks,
            command,
            wake,
            links: Mutex::default(),
            flow: Arc::default(),
            received: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            at_rest: AtomicBool::new(false),
        };
        Ok((Arc::new(handle), commands))
    }

    /// Returns whether block `index` belongs to the lane.
    pub fn has(&self, index: u64) -> bool {
        self.blocks.ordinal(index).is_some()
    }

    /// Sends a command. Ignored if the thread has ended.
    pub fn post(&self, command: LaneCommand) {
        let _ = self.command.send(command);
        self.wake.raise();
    }

    /// Sets the stream of a link, so that other threads can cut it; none when the link is closed.
    pub fn note(&self, side: LinkSide, epoch: u32, stream: Option<&TcpStream>) {
        let mut links = self.links.lock();
        let link = links.iter_mut().find(|link| link.side == side && link.epoch == epoch);
        if let Some(link) = link {
            link.stream = stream.and_then(|stream| stream.try_clone().ok());
        }
    }

    /// Sets the links of a route; forgets all others.
    pub fn note_peers(&self, route: &Route) {
        let up = route.upstream.map(|(id, epoch, _)| (LinkSide::Up, epoch, peer_index(id)));
        let downs = route.downstreams.iter();
        let downs = downs.map(|down| (LinkSide::Down, down.epoch, peer_index(down.node)));
        let mut links = self.links.lock();
        let mut before = std::mem::take(&mut *links);
        *links = up
            .into_iter()
            .chain(downs)
            .map(|(side, epoch, peer)| {
                let same = before.iter_mut().find(|link| link.side == side && link.epoch == epoch);
                Link { side, epoch, peer, stream: same.and_then(|link| link.stream.take()) }
            })
            .collect();
    }

    /// Returns whether the route has links, so that the node is on this lane.
    pub fn is_used(&self) -> bool {
        !self.links.lock().is_empty()
    }

    /// Calls `question` for every open link on one side. Returns the answers, each with the index
    /// in the plan of the node at the other end.
    pub fn ask<T>(&self, side: LinkSide, question: impl Fn(&TcpStream) -> T) -> Vec<(u16, T)> {
        let links = self.links.lock();
        let used = links.iter().filter(|link| link.side == side);
        used.filter_map(|link| Some((link.peer, question(link.stream.as_ref()?)))).collect()
    }

    /// Returns the kernel's TCP statistics of the first open link downstream; none over MPTCP.
    pub fn account(&self) -> Option<TcpInfo> {
        self.ask(LinkSide::Down, TcpInfo::of).into_iter().next()?.1.ok()
    }

    /// Returns the statistics of the only link downstream, for a report; none if there are several,
    /// or over MPTCP.
    pub fn hop(&self) -> Option<HopReport> {
        let links = self.links.lock();
        let mut down = links.iter().filter(|link| link.side == LinkSide::Down);
        let link = down.next().filter(|_| down.next().is_none())?;
        let info = TcpInfo::of(link.stream.as_ref()?).ok()?;
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Some(HopReport {
            epoch: link.epoch,
            sent: info.acknowledged,
            busy_ns: ns(info.busy),
            blocked_ns: ns(info.window_limited),
        })
    }

    /// Cuts each link downstream whose wire seems to be dead: nothing is received, and data and
    /// probes are retransmitted in vain.
    pub fn cut_silent(&self) {
        let silent = |info: &TcpInfo| info.vain >= VAIN && info.unheard >= UNHEARD;
        for link in self.links.lock().iter().filter(|link| link.side == LinkSide::Down) {
            let info = link.stream.as_ref().and_then(|stream| TcpInfo::of(stream).ok());
            if info.as_ref().is_some_and(silent) {
                link.cut();
            }
        }
    }

    pub(super) fn cut_others(&self, route: &Route) {
        for link in self.links.lock().iter() {
            let stays = match link.side {
                LinkSide::Up => route.epoch_up() == Some(link.epoch),
                LinkSide::Down => route.epochs_down().any(|epoch| epoch == link.epoch),
            };
            if !stays {
                link.cut();
            }
        }
    }

    /// Cuts the links of a thread that is at work, and wakes the thread.
    pub(super) fn close(&self) {
        if !self.at_rest.load(Ordering::SeqCst) {
            self.links.lock().iter().for_each(Link::cut);
        }
        self.wake.raise();
    }
}

impl Link {
    fn cut(&self) {
        if let Some(stream) = &self.stream {
            // Fails if the link is broken already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

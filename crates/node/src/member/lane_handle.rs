//! The outside of a lane's thread: its letter box, and the links that it works on.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garland_core::plan::NodeId;
use garland_core::proto::{LinkSide, RelayEvent, Route};
use garland_core::trace::NONE;
use garland_sys::event::Wake;
use garland_sys::tcp_info::TcpInfo;

/// What a lane's thread is told.
pub enum Mail {
    /// Something for its machine.
    Event(RelayEvent),
    /// A link on that side, of this epoch.
    Link(LinkSide, u32, TcpStream),
}

/// The outside of a lane's thread.
pub struct LaneHandle {
    mail: Sender<Mail>,
    /// Raised with every letter.
    pub wake: Wake,
    /// Second descriptors of the links in use, to end a transfer that hangs in one.
    up: Mutex<Option<(u32, TcpStream)>>,
    down: Mutex<Option<(u32, TcpStream)>>,
    /// The places in the plan of the nodes that these lead to.
    up_peer: AtomicU16,
    down_peer: AtomicU16,
    /// Blocks received.
    pub received: AtomicU64,
    /// The thread waits, and nothing is under way on its links or will be: they needn't be cut.
    pub at_rest: AtomicBool,
}

impl LaneHandle {
    /// A lane's outside and the letter box for its thread.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> std::io::Result<(Arc<Self>, Receiver<Mail>)> {
        let (mail, letters) = channel();
        let wake = Wake::new()?;
        let handle = Self {
            mail,
            wake,
            up: Mutex::new(None),
            down: Mutex::new(None),
            up_peer: AtomicU16::new(NONE),
            down_peer: AtomicU16::new(NONE),
            received: AtomicU64::new(0),
            at_rest: AtomicBool::new(false),
        };
        Ok((Arc::new(handle), letters))
    }

    /// Tells the lane's thread; a thread that has ended needs no telling.
    pub fn post(&self, mail: Mail) {
        let _ = self.mail.send(mail);
        self.wake.raise();
    }

    /// Notes the link in use on one side, so that it can be cut from outside.
    pub fn note(&self, side: LinkSide, link: Option<(u32, &TcpStream)>) {
        let second = link.and_then(|(epoch, stream)| Some((epoch, stream.try_clone().ok()?)));
        *self.side(side) = second;
    }

    /// Notes whom the lane's links lead to.
    pub fn note_peers(&self, route: &Route) {
        let place = |id: NodeId| u16::try_from(id.0).unwrap_or(NONE);
        let up = route.upstream.map_or(NONE, |(id, ..)| place(id));
        let down = route.downstream.map_or(NONE, |(id, ..)| place(id));
        self.up_peer.store(up, Ordering::Relaxed);
        self.down_peer.store(down, Ordering::Relaxed);
    }

    /// Asks something about the link in use on one side, if there is one: whom it leads to, and
    /// the answer.
    pub fn ask<T>(
        &self,
        side: LinkSide,
        question: impl FnOnce(&TcpStream) -> T,
    ) -> Option<(u16, T)> {
        let peer = match side {
            LinkSide::Up => &self.up_peer,
            LinkSide::Down => &self.down_peer,
        };
        let link = self.side(side);
        let answer = link.as_ref().map(|(_, stream)| question(stream))?;
        Some((peer.load(Ordering::Relaxed), answer))
    }

    /// The kernel's account of the link in use downstream; none of MPTCP.
    #[must_use]
    pub fn account(&self) -> Option<TcpInfo> {
        self.ask(LinkSide::Down, TcpInfo::of)?.1.ok()
    }

    pub(super) fn cut_others(&self, route: &Route) {
        let up = route.upstream.map(|(_, epoch, _)| epoch);
        let down = route.downstream.map(|(_, epoch, _)| epoch);
        self.cut_unless(LinkSide::Up, up);
        self.cut_unless(LinkSide::Down, down);
    }

    pub(super) fn cut_all(&self) {
        self.cut_unless(LinkSide::Up, None);
        self.cut_unless(LinkSide::Down, None);
    }

    fn cut_unless(&self, side: LinkSide, keep: Option<u32>) {
        if let Some((epoch, stream)) = &*self.side(side)
            && Some(*epoch) != keep
        {
            // It may be broken already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn side(&self, side: LinkSide) -> MutexGuard<'_, Option<(u32, TcpStream)>> {
        let link = match side {
            LinkSide::Up => &self.up,
            LinkSide::Down => &self.down,
        };
        link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

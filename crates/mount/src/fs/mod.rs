//! The file system that the kernel sees. Its threads never wait: every question that a node must
//! answer goes on its way with what is to be done with the answer, so that a node that is slow or
//! gone keeps nobody from the others.

mod ahead;
mod attr;
mod behind;
mod cache_stamp;
mod calls;
mod files;
mod folder;
mod inode;
mod inodes;
mod listing;
mod names;
mod open;
mod reading;
mod status;
mod top;
mod window;
mod writing;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Sender;

use self::inode::Inode;
use self::inodes::Inodes;
use self::open::Opens;
use self::top::Top;
use self::window::Window;
use crate::peer::Peer;
use crate::recording::Recording;

pub use self::calls::Files;
pub use self::status::{Account, NodeAccount};
pub use self::top::{STATUS_NAME, Top as TopFolder};

/// What the kernel has asked for.
#[derive(Debug, Default)]
pub struct Figures {
    /// Reads.
    pub reads: AtomicU64,
    /// Those that were answered at once by what had been read ahead.
    pub ahead: AtomicU64,
    /// Writes.
    pub writes: AtomicU64,
    /// Names looked up.
    pub lookups: AtomicU64,
    /// Files opened.
    pub opens: AtomicU64,
    /// Those whose pages the kernel could keep.
    pub kept: AtomicU64,
}

/// All of a mount.
pub struct Mount {
    /// The nodes, in the list's order.
    pub peers: Vec<Arc<Peer>>,
    /// What the kernel has asked for.
    pub figures: Figures,
    windows: Vec<Window>,
    inodes: Inodes,
    opens: Opens,
    top: Top,
    /// Numbers of files whose cached pages may hold what was lost.
    distrusted: Sender<u64>,
    recording: Arc<Recording>,
}

impl Mount {
    /// A mount of `peers`; whose cached pages can't be trusted any more is said by `distrusted`.
    pub fn new(
        peers: Vec<Arc<Peer>>,
        top: Top,
        distrusted: Sender<u64>,
        recording: Arc<Recording>,
    ) -> Arc<Self> {
        let inodes = Inodes::default();
        for place in 0..peers.len() {
            inodes.keep(Inode::root(top::node_number(place), place));
        }
        let windows = peers.iter().map(|_| Window::default()).collect();
        let (figures, opens) = (Figures::default(), Opens::default());
        Arc::new(Self { peers, figures, windows, inodes, opens, top, distrusted, recording })
    }

    fn peer(&self, inode: &Inode) -> &Arc<Peer> {
        &self.peers[inode.peer]
    }

    /// The kernel's pages of a file may hold bytes that the node never got.
    fn distrust(&self, number: u64) {
        // Nobody listens any more when the mount ends.
        let _ = self.distrusted.send(number);
    }
}

//! The file system that the kernel sees. Its threads never block: every request to a node carries a
//! continuation, so that a slow or lost node doesn't delay the others.

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

/// Counters of the kernel's requests.
#[derive(Debug, Default)]
pub struct Figures {
    /// Reads.
    pub reads: AtomicU64,
    /// Reads that were served by the read-ahead at once.
    pub ahead: AtomicU64,
    /// Writes.
    pub writes: AtomicU64,
    /// Lookups.
    pub lookups: AtomicU64,
    /// Opened files.
    pub opens: AtomicU64,
    /// Opened files whose cached pages were kept.
    pub kept: AtomicU64,
}

/// A mount.
pub struct Mount {
    /// The nodes in the order of the list.
    pub peers: Vec<Arc<Peer>>,
    /// Counters of the kernel's requests.
    pub figures: Figures,
    windows: Vec<Window>,
    inodes: Inodes,
    opens: Opens,
    top: Top,
    /// Receives the inode numbers of files whose cached pages are invalid.
    distrusted: Sender<u64>,
    recording: Arc<Recording>,
}

impl Mount {
    /// A mount of `peers`; `distrusted` receives the inode numbers of files with invalid cached pages.
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

    /// Invalidates the kernel's cached pages of a file, which may hold bytes that the node never got.
    fn distrust(&self, number: u64) {
        // It fails while the mount ends.
        let _ = self.distrusted.send(number);
    }
}

//! The file system as the kernel sees it. Its threads never block: every request to a node has a
//! continuation, so that a slow or lost node does not delay requests to the others.

mod ahead;
mod attr;
mod behind;
mod cache_stamp;
mod calls;
mod files;
mod folder;
mod held;
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
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use garland_sys::channel::Sender;
use garland_sys::threads::Slots;

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

/// Numbers of requests by the kernel since the mount began.
#[derive(Debug, Default)]
pub struct Figures {
    /// Reads, including those served by the read-ahead.
    pub reads: AtomicU64,
    /// Reads that the read-ahead served without waiting.
    pub ahead: AtomicU64,
    /// Write requests.
    pub writes: AtomicU64,
    /// Lookups of names in directories.
    pub lookups: AtomicU64,
    /// Files opened or created.
    pub opens: AtomicU64,
    /// Opens of files whose cached pages the kernel kept.
    pub kept: AtomicU64,
}

/// A mounted file system, with its connections to the nodes.
pub struct Mount {
    /// The nodes, in the order of the node list.
    pub peers: Vec<Arc<Peer>>,
    /// Numbers of requests by the kernel.
    pub figures: Figures,
    windows: Vec<Window>,
    inodes: Inodes,
    opens: Opens,
    /// One for each piece that open files may have read ahead.
    pieces: Arc<Slots>,
    top: Top,
    /// The channel for the inode numbers of files whose pages in the kernel's cache are invalid.
    distrusted: Sender<u64>,
    recording: Arc<Recording>,
    /// Whether a node has refused attributes that were held: from then on none are held.
    is_refused: AtomicBool,
    /// The number of requests with attributes that nodes have answered.
    told: AtomicU64,
}

impl Mount {
    /// Creates a mount of `peers`. The inode numbers of files with invalid cached pages are sent to
    /// `distrusted`.
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
        let figures = Figures::default();
        let opens = Opens::default();
        let pieces = Slots::new(ahead::PIECES_MAX);
        let is_refused = AtomicBool::new(false);
        let told = AtomicU64::new(0);
        Arc::new(Self {
            peers,
            figures,
            windows,
            inodes,
            opens,
            pieces,
            top,
            distrusted,
            recording,
            is_refused,
            told,
        })
    }

    /// Returns the number of requests with attributes that nodes have answered: what a request that
    /// was sent at a lower number returned may be older.
    fn told(&self) -> u64 {
        self.told.load(Ordering::Acquire)
    }

    fn peer(&self, inode: &Inode) -> &Arc<Peer> {
        &self.peers[inode.peer]
    }

    /// Causes the kernel to drop the cached pages of a file, which may hold bytes that never
    /// reached the node.
    fn distrust(&self, number: u64) {
        // Fails if the mount is ending.
        let _ = self.distrusted.send(number);
    }
}

#[cfg(test)]
mod tests;

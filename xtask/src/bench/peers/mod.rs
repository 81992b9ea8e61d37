//! The tools in the table, one a file.

mod clush;
mod mpi;
mod pipes;
mod relay;
mod rsync;
mod udpcast;
mod uftp;

use super::peer::Peer;

/// All of them, the floor first.
pub(crate) fn all() -> Vec<Box<dyn Peer>> {
    vec![
        Box::new(relay::Relay::default()),
        Box::new(pipes::Pipes::default()),
        Box::new(mpi::Mpi::default()),
        Box::new(udpcast::Udpcast),
        Box::new(uftp::Uftp::default()),
        Box::new(rsync::Rsync::default()),
        Box::new(clush::Clush::default()),
    ]
}

//! The tools that `bench chain` compares, one per file.

mod bittorrent;
mod clush;
mod dolly;
mod floor;
mod garland;
mod garland_ssh;
mod mpi;
mod pipes;
mod relay;
mod rsync;
mod sshd;
mod udpcast;
mod uftp;

use super::peer::Peer;

pub(crate) use floor::Floor;
pub(crate) use garland::program as garland_program;
pub(crate) use relay::Relay;

/// Returns all tools that can be had: the floors first, Garland last.
pub(crate) fn all(congestion: &str) -> Vec<Box<dyn Peer>> {
    let relays = Relay::ways().map(|way| Box::new(way) as Box<dyn Peer>);
    let mut peers = Vec::from(relays);
    peers.extend(Floor::ways().map(|way| Box::new(way) as Box<dyn Peer>));
    peers.extend([
        Box::new(pipes::Pipes::default()) as Box<dyn Peer>,
        Box::new(mpi::Mpi::default()),
        Box::new(udpcast::Udpcast),
        Box::new(uftp::Uftp),
        Box::new(bittorrent::BitTorrent::default()),
        Box::new(rsync::Rsync),
        Box::new(clush::Clush),
    ]);
    if let Some(dolly) = dolly::Dolly::found() {
        peers.push(Box::new(dolly));
    }
    for way in garland::Garland::ways(congestion) {
        peers.push(Box::new(way));
    }
    peers.push(Box::new(garland_ssh::GarlandSsh::new(congestion)));
    peers
}

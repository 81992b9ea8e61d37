//! Sends the helper for libfabric to nodes that lack it.

use std::fs::File;
use std::io::Read;

use garland_protocol::ToAgent;

use crate::copy::Agent;
use garland_dataplane::image::Image;
use garland_fabric::find::find;

/// Bytes of a parcel, which fit into a message of the control channel.
const PARCEL: usize = 48 << 10;

/// Sends this machine's helper to `agents`. If it has none, or cannot read it, the agents report
/// what they lack.
pub fn bring<'a>(agents: impl Iterator<Item = &'a mut Agent>) {
    let mut bytes = Vec::new();
    let image = find().ok().and_then(|path| Image::of(File::open(path).ok()?).ok());
    let Some(Ok(1..)) = image.map(|mut image| image.read_to_end(&mut bytes)) else { return };
    let last = bytes.chunks(PARCEL).count() - 1;
    for agent in agents {
        let mut parcels = bytes.chunks(PARCEL).enumerate();
        // A channel that broke is reported by its next user.
        let _ = parcels.try_for_each(|(at, parcel)| {
            agent.connection.send(&ToAgent::Helper(parcel.to_vec(), at < last))
        });
    }
}

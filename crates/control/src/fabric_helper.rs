//! Sends the libfabric helper program to nodes that lack it.

use std::fs::File;
use std::io::Read;

use garland_fabric::find::find;
use garland_protocol::ToAgent;
use garland_sys::ownership;

use crate::copy::Agent;
use crate::program::Image;

/// The maximum number of bytes of the program in one message of the control channel.
const PARCEL: usize = 48 << 10;

/// Sends the helper program of this machine to `agents`. If this machine has none, or cannot read
/// it, nothing is sent: the agents report that the program is missing.
pub fn bring<'a>(agents: impl Iterator<Item = &'a mut Agent>) {
    let mut bytes = Vec::new();
    let found = find(ownership::fault_of_program).ok();
    let image = found.and_then(|path| Image::read(File::open(path).ok()?).ok());
    let Some(Ok(1..)) = image.map(|mut image| image.read_to_end(&mut bytes)) else { return };
    let last = bytes.chunks(PARCEL).count() - 1;
    for agent in agents {
        let mut parcels = bytes.chunks(PARCEL).enumerate();
        // A broken channel is reported by its next use.
        let _ = parcels.try_for_each(|(at, parcel)| {
            agent.connection.send(&ToAgent::Helper(parcel.to_vec(), at < last))
        });
    }
}

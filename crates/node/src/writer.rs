//! The writer: opens blocks and writes them, apart from the lane that received them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use garland_core::proto::{FRAME_LEN, Frame, Keys, Landing, RelayEvent};
use garland_sys::clock;

use crate::member::{Mail, Member, Notice};
use crate::store::reason;

/// A block that has come in whole.
pub struct Arrived {
    /// Its header.
    pub frame: Frame,
    /// Its header's bytes, which the seal covers.
    pub header: [u8; FRAME_LEN],
    /// Its bytes.
    pub buffer: Vec<u8>,
    /// How many of them.
    pub length: usize,
}

/// Writes what arrives until nobody sends any more, or the store fails.
pub fn write_blocks(member: &Arc<Member>, arrivals: &Receiver<Arrived>) {
    member.writing.begin();
    let mut keys = Keys::new(&member.secret, member.copy);
    for mut arrived in arrivals {
        let Arrived { frame, header, buffer, length } = &mut arrived;
        let before = clock::thread_cpu_ns();
        let opened = keys.open(frame, header, &mut buffer[..*length]);
        let spent = clock::thread_cpu_ns().saturating_sub(before);
        member.opening_ns.fetch_add(spent, Ordering::Relaxed);
        let landing = match opened {
            Ok(()) => {
                let bytes = &buffer[..frame.length as usize];
                let offset = member.layout.offset(frame.index);
                let written = member.writing.measure(|| member.store.write_at(offset, bytes));
                if let Err(error) = written {
                    let reason = format!("writing {}: {}", member.store.name(), reason(&error));
                    member.tell(Notice::Failed(reason));
                    return;
                }
                Landing::Written
            }
            Err(_) => Landing::Changed,
        };
        let (lane, index) = (frame.lane, frame.index);
        member.pool.give(arrived.buffer);
        if let Some(lane) = member.lane(lane) {
            lane.post(Mail::Event(RelayEvent::Landed(index, landing)));
        }
    }
}

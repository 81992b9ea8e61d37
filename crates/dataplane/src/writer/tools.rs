//! Writes one block: what each of a copy's writers does by itself.

use garland_core::trace::Stage;
use garland_protocol::copy::{Encoding, Frame};

use super::arrived::{Arrived, settle};
use super::unwrapping::Unwrapping;
use crate::context::{CopyContext, Notice};
use crate::recorder::{At, Recorder};
use crate::write_waits::WriterId;

/// What a writer needs for itself.
pub struct Tools {
    /// Its number in the account of waits for the disk.
    pub own: WriterId,
    /// Takes blocks out of their encodings.
    pub unwrapping: Unwrapping,
    /// Records what it does.
    pub recorder: Recorder,
}

impl Tools {
    /// Returns the tools of the calling thread.
    pub fn new(copy: &CopyContext) -> Self {
        let recorder = Recorder::new(&copy.config.trace, Stage::Write);
        Self {
            own: copy.telemetry.write_waits.begin(),
            unwrapping: Unwrapping::default(),
            recorder,
        }
    }
}

/// Returns the place of a block in the trace.
pub fn at(frame: &Frame) -> At {
    At::block(frame.lane, frame.index)
}

/// Returns whether a block that was verified consists of zeros.
fn is_of_zeros(copy: &CopyContext, frame: &Frame) -> bool {
    let zeros = copy.codec.zeros.digest(frame.length as usize);
    copy.progress.sink().content(frame.index) == Some(zeros)
}

/// Writes a decrypted block, except its first `done` bytes. Returns whether the store accepted it.
pub fn write(copy: &CopyContext, tools: &mut Tools, arrived: Arrived, done: usize) -> bool {
    let Arrived { frame, buffer, .. } = arrived;
    let length = frame.length as usize;
    let from = copy.layout.offset(frame.index) + done as u64;
    let rest = length - done;
    let Some(bytes) = tools.unwrapping.bytes(&frame, &buffer) else {
        // It was decompressed before, to compare its digest.
        let reason = format!("cannot decompress block {} again after it was verified", frame.index);
        copy.tell(Notice::Failed(reason));
        return false;
    };
    let store = &copy.config.store;
    let is_hole = store.is_sparse() && is_of_zeros(copy, &frame);
    let began = tools.recorder.now();
    let written = copy.telemetry.write_waits.measure(tools.own, || {
        copy.config.faults.before_writing(length);
        match frame.form {
            // Of zeros that came as bytes, a part may have been written.
            _ if is_hole => store.leave_hole(copy.layout.offset(frame.index), length),
            Encoding::Zeros => store.write_zeros(from, rest),
            Encoding::Hole => store.leave_hole(from, rest),
            Encoding::Plain | Encoding::Lz4 | Encoding::Zstd => {
                store.write_at(from, &bytes[done..])
            }
        }
    });
    tools.recorder.took(Stage::Write, at(&frame), began, length);
    settle(copy, &frame, buffer, written)
}

//! Objects of servers without ranges: the whole object is read once, in order, into an unlinked
//! temporary file, and reads are served from this file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;

use garland_core::printable;
use garland_sys::error::reason;
use garland_sys::sync::{Condvar, Mutex};
use garland_sys::{random, threads};

use crate::origin::{Origin, Stream, runtime};
use crate::trouble::Trouble;
use crate::waiting::Waiting;

/// An object that is read completely in the background.
pub(crate) struct Spool(Arc<Shared>);

struct Shared {
    file: File,
    filling: Mutex<Filling>,
    came: Condvar,
}

#[derive(Default)]
struct Filling {
    /// The number of bytes that were written to the file so far.
    here: u64,
    trouble: Option<Trouble>,
    over: bool,
}

impl Spool {
    /// Starts to read `origin`; `stream` is the stream of all its bytes.
    pub(crate) fn start(origin: Arc<Origin>, stream: Stream) -> Result<Self, Trouble> {
        let file = nameless().map_err(|error| unwritten(&origin, &error))?;
        let shared = Arc::new(Shared { file, filling: Mutex::default(), came: Condvar::new() });
        let filler = Arc::clone(&shared);
        let begun = threads::spawn("spool", move || {
            if let Err(trouble) = filler.fill(&origin, stream) {
                filler.filling.lock().trouble = Some(trouble);
                filler.came.notify_all();
            }
        });
        begun.map_err(|error| Trouble::new(error.to_string()))?;
        Ok(Self(shared))
    }

    /// Waits until all bytes before `end` are in the file.
    pub(crate) fn wait(&self, end: u64, waiting: &Waiting<'_>) -> Result<(), Trouble> {
        let over = |filling: &Filling| filling.here >= end || filling.trouble.is_some();
        let filling = self.0.filling.lock();
        let filling = waiting.until(&self.0.came, filling, over, |filling| filling.here)?;
        match filling.trouble.clone().filter(|_| filling.here < end) {
            Some(trouble) => Err(trouble),
            None => Ok(()),
        }
    }

    /// Fills `bytes` with the contents from `offset` on.
    pub(crate) fn read(
        &self,
        offset: u64,
        bytes: &mut [u8],
        waiting: &Waiting<'_>,
    ) -> Result<(), Trouble> {
        self.wait(offset + bytes.len() as u64, waiting)?;
        let read = self.0.file.read_exact_at(bytes, offset);
        read.map_err(|error| {
            let what = format!("cannot read the temporary file of {}", waiting.address);
            Trouble::new(format!("{what}: {}", reason(&error)))
        })
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.0.filling.lock().over = true;
    }
}

impl Shared {
    fn fill(&self, origin: &Origin, stream: Stream) -> Result<(), Trouble> {
        let mut at = 0;
        let mut take = |bytes: &[u8]| {
            self.file.write_all_at(bytes, at).map_err(|error| unwritten(origin, &error))?;
            at += bytes.len() as u64;
            let mut filling = self.filling.lock();
            filling.here = at;
            self.came.notify_all();
            if filling.over {
                return Err(Trouble::changed(&origin.address));
            }
            Ok(())
        };
        let all = 0..origin.pinned.size;
        runtime()?.block_on(origin.pour(all, Some(stream), false, &mut take))
    }
}

/// Creates an unlinked file in the directory of temporary files; it disappears when this process
/// ends.
fn nameless() -> io::Result<File> {
    let number = u64::from_ne_bytes(random::bytes());
    let path = std::env::temp_dir().join(format!(".garland-spool-{number:016x}"));
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn unwritten(origin: &Origin, error: &io::Error) -> Trouble {
    let folder = std::env::temp_dir();
    let what = format!(
        "cannot write {} to a temporary file in {}: {}",
        origin.address,
        printable::path(&folder),
        reason(error)
    );
    Trouble::new(what).hint(
        "the server does not support ranges, so the whole object is stored while it is copied; set TMPDIR to a directory with enough space",
    )
}

//! Reads the last lines of an agent's log.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use garland_core::farm::Text;
use garland_core::farm::last_words::last_words;
use garland_fleet::launch::log_name;
use garland_sys::regular_file;

/// The number of bytes that are read at the end of the log.
const TAIL: u64 = 4 << 10;

/// Returns the last lines of the log of `node`'s agent in `folder`; none if there is no log, as for
/// a standing agent, or if the log is empty.
pub fn last_words_at(folder: &Path, node: &str) -> Vec<Text> {
    let mut tail = Vec::new();
    if let Ok(mut file) = regular_file::open(&folder.join(log_name(node))) {
        let length = file.metadata().map_or(0, |stat| stat.len());
        let begin = SeekFrom::Start(length.saturating_sub(TAIL));
        // The lines only add to an error message: ignore errors.
        let _ = file.seek(begin).and_then(|_| (&file).take(TAIL).read_to_end(&mut tail));
    }
    last_words(&tail)
}

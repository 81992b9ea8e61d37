//! The last lines of an agent's log.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use garland_core::farm::Text;
use garland_core::farm::last_words::last_words;

use garland_fleet::builder::log_name;

/// Bytes at the end of the log that are read.
const LOOKED_AT: u64 = 4 << 10;

/// The last lines that the agent of `node` wrote to its log in `folder`; none for a standing agent or an
/// empty log.
pub fn last_words_at(folder: &Path, node: &str) -> Vec<Text> {
    let mut said = Vec::new();
    if let Ok(mut file) = File::open(folder.join(log_name(node))) {
        let length = file.metadata().map_or(0, |stat| stat.len());
        let begin = SeekFrom::Start(length.saturating_sub(LOOKED_AT));
        // The lines are an addition to an error message: do without them if the log cannot be read.
        let _ = file.seek(begin).and_then(|_| (&file).take(LOOKED_AT).read_to_end(&mut said));
    }
    last_words(&said)
}

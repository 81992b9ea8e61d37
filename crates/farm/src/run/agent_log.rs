//! What a node's agent said last: the end of the file that its standard error went to.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use garland_core::farm::Text;
use garland_core::farm::last_words::last_words;

use garland_fleet::builder::log_name;

/// Bytes of the end that are looked at.
const LOOKED_AT: u64 = 4 << 10;

/// The last lines that the agent of the node said, whose complaints go to a file in `folder`; none of an
/// agent that stood before, or said nothing.
pub fn last_words_at(folder: &Path, node: &str) -> Vec<Text> {
    let mut said = Vec::new();
    if let Ok(mut file) = File::open(folder.join(log_name(node))) {
        let length = file.metadata().map_or(0, |stat| stat.len());
        let begin = SeekFrom::Start(length.saturating_sub(LOOKED_AT));
        // What can't be read can't be told, and nothing hangs on it.
        let _ = file.seek(begin).and_then(|_| (&file).take(LOOKED_AT).read_to_end(&mut said));
    }
    last_words(&said)
}

//! The record of a spool, from which `garland status` tells what waits.

use std::path::{Path, PathBuf};

use garland_core::farm::Text;
use garland_core::printable;
use garland_results::spool::{SpoolState, WaitingEntry};
use garland_state::places::Places;
use garland_sys::private_file;
use garland_terminal::failure::{Failure, OrFailure};

use super::directory::SpoolDir;

/// The directory of the records in the state directory.
const FOLDER: &str = "spools";

/// The record of the spool that this process serves. It is removed when this value is dropped.
pub struct SpoolRecord {
    path: PathBuf,
    state: SpoolState,
}

impl SpoolRecord {
    /// Creates the record of the spool `directory`, whose entries go to `destination`.
    pub fn new(places: &Places, directory: &Path, destination: Text) -> Result<Self, Failure> {
        let path = places.folder(FOLDER)?.join(format!("{}.json", std::process::id()));
        let directory = Text::from(directory.as_os_str().as_encoded_bytes());
        Ok(Self { path, state: SpoolState::new(directory, destination) })
    }

    /// Writes the entries that wait, of which `waiting` are the first, and `more` follow.
    pub fn keep(&mut self, waiting: Vec<WaitingEntry>, more: usize) -> Result<(), Failure> {
        self.state.waiting = waiting;
        self.state.more = more;
        let text = serde_json::to_vec_pretty(&self.state).or_nothing("cannot encode what waits")?;
        let what = format!("writing {}", printable::path(&self.path));
        private_file::replace_unsynced(&self.path, &text).or_nothing(what)
    }
}

impl Drop for SpoolRecord {
    fn drop(&mut self) {
        // One that is left is no harm: nobody serves its directory.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Returns the spools that are served on this machine by this user. Records that cannot be read are
/// named, and left out.
pub fn served(places: &Places) -> Result<Vec<SpoolState>, Failure> {
    let records = places.read_records::<SpoolState>(FOLDER)?.into_iter();
    let known = records.map(|(_, state)| state).filter(SpoolState::is_known);
    let mut states: Vec<SpoolState> =
        known.filter(|state| SpoolDir::is_served(&state.directory())).collect();
    states.sort_by_key(SpoolState::directory);
    Ok(states)
}

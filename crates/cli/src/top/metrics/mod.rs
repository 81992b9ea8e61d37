//! The figures of nodes, and of this user's last copy and spools, as a text file that Prometheus
//! reads, such as the textfile collector of its node exporter.

mod exposition;
mod head;
mod nodes;

use std::io;
use std::path::Path;

use garland_state::places::Places;
use garland_sys::new_file;

use self::exposition::Exposition;
use super::board::Board;

/// Writes all figures to `path`, which always has a whole file. Figures of this machine's state
/// directory `places` that cannot be read are left out.
pub fn write(path: &Path, board: &Board, places: &Places) -> io::Result<()> {
    let mut text = Exposition::default();
    nodes::add(&mut text, board);
    head::add(&mut text, places);
    new_file::write(path, text.into_string().as_bytes())
}

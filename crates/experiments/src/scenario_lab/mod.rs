//! The lab of scenarios and of the demo. It runs commands of this binary, and removes its files
//! when it ends.

mod busy;
mod commands;
mod copied;
mod mounted;
mod waited;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use garland_copy::calibration;
use garland_core::cluster::nodelist::fold;
use garland_core::printable;
use garland_lab::{Lab, Spec, StateDir, Warden};
use garland_predict::Processors;
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::signal::Interrupts;
use garland_sys::{private_file, process, random};
use garland_terminal::failure::{Failure, OrFailure};
use garland_topology::{NodeId, Topology};

pub use busy::Busy;
pub use copied::Copied;
pub use waited::Waited;

/// A lab, with directories for its files and state.
pub struct ScenarioLab<'a> {
    lab: Option<Lab>,
    /// The process that ends the lab and removes the directories if this program is killed.
    warden: Option<Warden>,
    state: PathBuf,
    files: PathBuf,
    interrupts: &'a Interrupts,
    interrupted: Cell<bool>,
}

impl<'a> ScenarioLab<'a> {
    /// Returns the specification of a lab of `topology`, with the name that all scenarios use.
    pub fn spec(topology: &Topology) -> Spec {
        Spec { name: "lab".to_owned(), topology: topology.clone(), roots: None, faults: Vec::new() }
    }

    /// Builds the lab of `spec`, and a directory that has space for `room` bytes of files.
    pub fn build(
        run: &Run,
        interrupts: &'a Interrupts,
        spec: Spec,
        room: u64,
    ) -> Result<Self, Failure> {
        spec.validate().map_err(Failure::usage)?;
        let files = files_directory(run, room)?;
        let state = run.folder().join("state");
        std::fs::create_dir_all(&state)
            .or_nothing(format!("cannot create {}", printable::path(&state)))?;
        let interrupted = Cell::new(false);
        let mut built = Self { lab: None, warden: None, state, files, interrupts, interrupted };
        let roots = Some(built.files.clone());
        let spec = Spec { roots, ..spec };
        let labs = StateDir(built.places()?.folder("lab")?);
        let directories = vec![built.files.clone(), built.state.clone()];
        let up = Lab::up_meanwhile(&labs, spec, directories).map_err(Failure::nothing)?;
        (built.lab, built.warden) = (Some(up.0), Some(up.1));
        Ok(built)
    }

    /// Returns the state directory of commands that run in the lab.
    pub fn places(&self) -> Result<Places, Failure> {
        Places::at(&self.state)
    }

    /// Returns the processors that the nodes of the lab share; `None` if they cannot be measured.
    pub fn processors(&self) -> Result<Option<Processors>, Failure> {
        Ok(calibration::measured_processors(&self.places()?, true))
    }

    /// Returns the lab; an error if it was removed.
    pub fn lab(&self) -> Result<&Lab, Failure> {
        self.lab.as_ref().ok_or_else(|| Failure::nothing("the lab has been removed"))
    }

    /// Returns the directory of the lab's files, which is removed with the lab.
    pub fn files(&self) -> &Path {
        &self.files
    }

    /// Writes a file of `length` random bytes, and returns its path.
    pub fn random_file(&self, name: &str, length: u64) -> Result<PathBuf, Failure> {
        const PIECE: usize = 1 << 20;
        let path = self.files.join(name);
        let making = || format!("failed to write {}", printable::path(&path));
        let mut file = File::create(&path).or_nothing(making())?;
        let mut left = length;
        // Write one random MiB again and again, with a different byte added each time, so that no
        // two blocks are equal.
        let mut piece = vec![0; PIECE];
        for chunk in piece.chunks_mut(32) {
            chunk.copy_from_slice(&random::bytes::<32>());
        }
        while left > 0 {
            let size = left.min(PIECE as u64);
            let turn = random::bytes::<1>()[0] | 1;
            piece.iter_mut().for_each(|byte| *byte = byte.wrapping_add(turn));
            file.write_all(&piece[..size as usize]).or_nothing(making())?;
            left -= size;
        }
        Ok(path)
    }

    /// Checks with one flow between two nodes that the wires of the lab have the rates of its
    /// topology.
    pub fn check(&self, from: NodeId, to: NodeId) -> Result<(), Failure> {
        let report = self.lab()?.check_pair(from, to).map_err(Failure::nothing)?;
        if report.holds() {
            return Ok(());
        }
        let report = report.to_string();
        Err(Failure::fault(format!("the lab's wires differ from its topology: {}", report.trim()))
            .hint(
                "other programs may keep this machine busy; for details, run garland lab run .. --check",
            ))
    }

    /// Returns whether the user has interrupted. Interrupts are held back while the lab is up.
    pub fn interrupted(&self) -> bool {
        if self.interrupts.pending() {
            self.interrupted.set(true);
        }
        self.interrupted.get()
    }

    /// Returns an error if the user has interrupted.
    pub fn go_on(&self) -> Result<(), Failure> {
        if self.interrupted() { Err(Failure::interrupted("using the lab")) } else { Ok(()) }
    }

    /// Returns whether the file `name` on the node equals `source`. Removes the file of the node.
    pub fn verify(&self, node: &str, name: &str, source: &Path) -> Result<bool, Failure> {
        let path = self.lab()?.root(node).map_err(Failure::nothing)?.join(name);
        let same = are_equal(source, &path)
            .or_nothing(format!("cannot compare {} with its source", printable::path(&path)))?;
        std::fs::remove_file(&path)
            .or_nothing(format!("cannot remove {}", printable::path(&path)))?;
        Ok(same)
    }

    /// Moves runs of commands in the lab to the runs of the user, so that they outlive the lab.
    pub fn keep_runs(&self, places: &Places, names: &[String]) -> Result<(), Failure> {
        let from = self.places()?.folder("runs")?;
        let to = places.folder("runs")?;
        for name in names {
            let moved = std::fs::rename(from.join(name), to.join(name));
            moved.or_nothing(format!("cannot keep the run {name}"))?;
        }
        Ok(())
    }

    /// Removes the lab and all its files.
    pub fn end(mut self) -> Result<(), Failure> {
        self.lab.take().map_or(Ok(()), |lab| lab.down().map_err(Failure::nothing))
    }
}

/// Returns whether two files have the same bytes.
fn are_equal(one: &Path, other: &Path) -> io::Result<bool> {
    let [mut one, mut other] =
        [File::open(one)?, File::open(other)?].map(|file| BufReader::with_capacity(1 << 20, file));
    loop {
        let here = one.fill_buf()?;
        let there = other.fill_buf()?;
        let length = here.len().min(there.len());
        if length == 0 || here[..length] != there[..length] {
            return Ok(here.is_empty() && there.is_empty());
        }
        one.consume(length);
        other.consume(length);
    }
}

impl Drop for ScenarioLab<'_> {
    fn drop(&mut self) {
        if let Some(lab) = self.lab.take() {
            // Report the error that led here, not one of the teardown.
            let _ = lab.down();
        }
        let _ = std::fs::remove_dir_all(&self.files);
        let _ = std::fs::remove_dir_all(&self.state);
        self.warden.take().into_iter().for_each(Warden::dismiss);
    }
}

/// Returns the node list of nodes of the lab, given without the prefix: `lab:srv,lab:n[2-3]`.
pub fn lab_nodes(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("lab:{name}")).collect();
    fold(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Creates a directory with space for `room` bytes: in memory if twice as much is free there,
/// otherwise in the directory of the run.
fn files_directory(run: &Run, room: u64) -> Result<PathBuf, Failure> {
    let memory = Path::new("/dev/shm");
    let roomy = process::available_memory() > room.saturating_mul(2)
        && process::free_space(memory).is_some_and(|free| free > room.saturating_mul(2));
    let base = if roomy { memory } else { run.folder() };
    // All users may make directories in memory.
    let chosen = u128::from_le_bytes(random::bytes());
    let files = base.join(format!("garland-{}-{chosen:032x}", run.name()));
    private_file::create_new_folder(&files)
        .or_nothing(format!("cannot create {}", printable::path(&files)))?;
    if process::free_space(&files).is_some_and(|free| free < room) {
        let files = printable::path(&files);
        let room = garland_core::units::bytes::format(room);
        return Err(Failure::nothing(format!("not enough free space in {files} for {room}"))
            .hint("use fewer nodes or a smaller file, or set GARLAND_STATE to a directory on a larger disk"));
    }
    Ok(files)
}

#[cfg(test)]
mod tests;

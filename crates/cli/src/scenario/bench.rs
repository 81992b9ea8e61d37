//! The bench that scenarios and the demo run on: a lab of their own, commands of this very binary,
//! and files that are gone afterwards.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use garland_lab::{Lab, Spec, StateDir};
use garland_sys::{process, random};

use crate::failure::{Failure, OrFailure};
use crate::launch::local::own_binary;
use crate::places::Places;
use crate::run::Run;

/// A lab and the folder of everything that is made for it.
pub struct Bench {
    lab: Option<Lab>,
    state: PathBuf,
    folder: PathBuf,
}

impl Bench {
    /// Builds the lab, with folders for `room` bytes.
    pub fn build(run: &Run, spec: Spec, room: u64) -> Result<Self, Failure> {
        let folder = roomy_folder(run, room)?;
        let state = run.folder().join("state");
        std::fs::create_dir_all(&state).or_nothing(format!("making {}", state.display()))?;
        let mut bench = Self { lab: None, state, folder };
        let roots = Some(bench.folder.clone());
        let spec = Spec { roots, ..spec };
        let places = Places::at(&bench.state)?;
        let lab = Lab::up(&StateDir(places.folder("lab")?), spec).map_err(Failure::nothing)?;
        bench.lab = Some(lab);
        Ok(bench)
    }

    /// The lab.
    pub fn lab(&self) -> Result<&Lab, Failure> {
        self.lab.as_ref().ok_or_else(|| Failure::nothing("the lab is down"))
    }

    /// A file of `length` random bytes.
    pub fn random_file(&self, name: &str, length: u64) -> Result<PathBuf, Failure> {
        const PIECE: usize = 1 << 20;
        let path = self.folder.join(name);
        let making = || format!("making {}", path.display());
        let mut file = File::create(&path).or_nothing(making())?;
        let mut left = length;
        // One random megabyte, each time turned by another byte: no two blocks are alike.
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

    /// Runs this binary with `arguments` in the bench's own state; its standard output. Its
    /// complaints go to the terminal.
    pub fn garland(&self, arguments: &[&str]) -> Result<Vec<u8>, Failure> {
        let what = || format!("garland {}", arguments.join(" "));
        let output = Command::new(own_binary())
            .args(arguments)
            .env("GARLAND_STATE", &self.state)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .or_nothing(format!("starting {}", what()))?;
        if !output.status.success() {
            return Err(Failure::nothing(format!("{}: {}", what(), output.status)));
        }
        Ok(output.stdout)
    }

    /// Whether the node's file `name` has the same bytes as `source`; removes it.
    pub fn verify(&self, node: &str, name: &str, source: &Path) -> Result<bool, Failure> {
        let path = self.lab()?.root(node).map_err(Failure::nothing)?.join(name);
        let same = Command::new("cmp").arg("-s").arg(source).arg(&path).status();
        let same = same.or_nothing("starting cmp")?.success();
        std::fs::remove_file(&path).or_nothing(format!("removing {}", path.display()))?;
        Ok(same)
    }

    /// Tears the lab down and removes all its files.
    pub fn end(mut self) -> Result<(), Failure> {
        self.lab.take().map_or(Ok(()), |lab| lab.down().map_err(Failure::nothing))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(lab) = self.lab.take() {
            // On the way out of an error, which is what the user must see.
            let _ = lab.down();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_dir_all(&self.state);
    }
}

/// A folder for `room` bytes: in memory where there is twice as much of it, else in the run's.
fn roomy_folder(run: &Run, room: u64) -> Result<PathBuf, Failure> {
    let memory = Path::new("/dev/shm");
    let roomy = process::available_memory() > room.saturating_mul(2)
        && process::free_space(memory).is_some_and(|free| free > room.saturating_mul(2));
    let base = if roomy { memory } else { run.folder() };
    let folder = base.join(format!("garland-{}", run.name()));
    std::fs::create_dir_all(&folder).or_nothing(format!("making {}", folder.display()))?;
    if process::free_space(&folder).is_some_and(|free| free < room) {
        let (folder, room) = (folder.display(), garland_core::units::bytes::format(room));
        return Err(Failure::nothing(format!("there is no room for {room} under {folder}"))
            .hint("fewer nodes or a smaller file need less; GARLAND_STATE names another disk"));
    }
    Ok(folder)
}

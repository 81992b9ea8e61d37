//! The bench that scenarios and the demo run on: a lab of their own, commands of this very binary,
//! and files that are gone afterwards.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use garland_core::cluster::topology::{NodeId, Topology};
use garland_lab::{Lab, Spec, StateDir, Warden};
use garland_sys::identity::{self, Signal};
use garland_sys::signal::{self, Interrupts};
use garland_sys::{clock, process, random};

use crate::failure::{Failure, OrFailure};
use crate::launch::local::own_binary;
use crate::places::Places;
use crate::run::Run;

/// How often requests to end are looked for.
const EVERY: Duration = Duration::from_millis(5);

/// How often copies that seem too slow are made again: other programs use this machine as well.
const AGAIN: u32 = 2;

/// A lab and the folder of everything that is made for it.
pub struct Bench<'a> {
    lab: Option<Lab>,
    /// Ends the lab and removes the folders should this program be killed.
    warden: Option<Warden>,
    state: PathBuf,
    folder: PathBuf,
    interrupts: &'a Interrupts,
    interrupted: Cell<bool>,
}

impl<'a> Bench<'a> {
    /// The lab of a topology, as all benches name it.
    pub fn spec(topology: &Topology) -> Spec {
        Spec { name: "lab".to_owned(), topology: topology.clone(), roots: None, faults: Vec::new() }
    }

    /// Builds the lab, with folders for `room` bytes.
    pub fn build(
        run: &Run,
        interrupts: &'a Interrupts,
        spec: Spec,
        room: u64,
    ) -> Result<Self, Failure> {
        spec.validate().map_err(Failure::usage)?;
        let folder = roomy_folder(run, room)?;
        let state = run.folder().join("state");
        std::fs::create_dir_all(&state).or_nothing(format!("making {}", state.display()))?;
        let interrupted = Cell::new(false);
        let mut bench = Self { lab: None, warden: None, state, folder, interrupts, interrupted };
        let roots = Some(bench.folder.clone());
        let spec = Spec { roots, ..spec };
        let places = Places::at(&bench.state)?;
        let labs = StateDir(places.folder("lab")?);
        let folders = vec![bench.folder.clone(), bench.state.clone()];
        let up = Lab::up_meanwhile(&labs, spec, folders).map_err(Failure::nothing)?;
        (bench.lab, bench.warden) = (Some(up.0), Some(up.1));
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

    /// Sends one flow between these nodes, and says why they can't be measured on if the lab's
    /// wires aren't what they stand for.
    pub fn check(&self, from: NodeId, to: NodeId) -> Result<(), Failure> {
        let report = self.lab()?.check_pair(from, to).map_err(Failure::nothing)?;
        if report.holds() {
            return Ok(());
        }
        let report = report.to_string();
        Err(Failure::fault(format!("the lab isn't what it stands for: {}", report.trim())).hint(
            "other programs may keep this machine busy; garland lab run .. --check says more",
        ))
    }

    /// Whether the user has asked to end. Until the bench is gone such requests are held back.
    pub fn interrupted(&self) -> bool {
        if self.interrupts.pending() {
            self.interrupted.set(true);
        }
        self.interrupted.get()
    }

    /// An error when the user has asked to end.
    pub fn go_on(&self) -> Result<(), Failure> {
        if self.interrupted() { Err(Failure::interrupted("using the lab")) } else { Ok(()) }
    }

    /// Runs this binary with `arguments` in the bench's own state; its standard output. Its
    /// complaints go to the terminal.
    pub fn garland(&self, arguments: &[&str]) -> Result<Vec<u8>, Failure> {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        let (mut outputs, _) = self.garlands(&[arguments])?;
        outputs.pop().ok_or_else(|| Failure::nothing("nothing was run"))
    }

    /// Runs this binary several times at once, as [`Bench::garland`] does; the standard outputs in
    /// the same order, and nanoseconds from before the first was started until the last had ended.
    pub fn garlands(&self, commands: &[Vec<String>]) -> Result<(Vec<Vec<u8>>, u64), Failure> {
        let what = |words: &[String]| format!("garland {}", words.join(" "));
        let started = clock::now_ns();
        let mut children = Vec::new();
        for words in commands {
            match self.start(words) {
                Ok(child) => children.push(child),
                Err(error) => {
                    // Those that run already are of no use; what failed is told.
                    let _ = self.wait(children, true);
                    return Err(error).or_nothing(format!("starting {}", what(words)));
                }
            }
        }
        let ended = self.wait(children, false);
        let whole = clock::now_ns() - started;
        let mut outputs = Vec::new();
        for (words, output) in commands.iter().zip(ended) {
            let output = output.or_nothing(format!("waiting for {}", what(words)))?;
            if !output.status.success() {
                self.go_on()?;
                return Err(Failure::nothing(format!("{}: {}", what(words), output.status)));
            }
            outputs.push(output.stdout);
        }
        Ok((outputs, whole))
    }

    /// Seconds of [`Bench::garlands`]; of several tries the least, when the first takes more than is
    /// enough.
    pub fn fastest(&self, commands: &[Vec<String>], enough_s: f64) -> Result<f64, Failure> {
        let mut least = f64::INFINITY;
        for _ in 0..=AGAIN {
            self.go_on()?;
            let (_, whole_ns) = self.garlands(commands)?;
            least = least.min(whole_ns as f64 / 1e9);
            if least <= enough_s {
                break;
            }
        }
        Ok(least)
    }

    fn start(&self, words: &[String]) -> io::Result<Child> {
        let mut command = Command::new(own_binary());
        command.args(words).env("GARLAND_STATE", &self.state);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        signal::release_in(&mut command);
        process::end_with_parent(&mut command);
        command.spawn()
    }

    /// Waits for all, and asks them to end when the user wants that, or `at_once`.
    fn wait(&self, children: Vec<Child>, at_once: bool) -> Vec<io::Result<Output>> {
        let ids: Vec<u32> = children.iter().map(Child::id).collect();
        let mut asked = false;
        std::thread::scope(|scope| {
            let start = |child: Child| scope.spawn(move || child.wait_with_output());
            let waiting: Vec<_> = children.into_iter().map(start).collect();
            while !waiting.iter().all(|thread| thread.is_finished()) {
                if !asked && (at_once || self.interrupted()) {
                    asked = true;
                    let living = ids.iter().zip(&waiting).filter(|(_, one)| !one.is_finished());
                    for (id, _) in living {
                        // It may have ended just now, which the next look finds.
                        let _ = identity::signal(*id, Signal::TERM);
                    }
                }
                std::thread::sleep(EVERY);
            }
            let panicked = || io::Error::other("the thread that waited for it has panicked");
            waiting.into_iter().map(|one| one.join().unwrap_or_else(|_| Err(panicked()))).collect()
        })
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

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        if let Some(lab) = self.lab.take() {
            // On the way out of an error, which is what the user must see.
            let _ = lab.down();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_dir_all(&self.state);
        self.warden.take().into_iter().for_each(Warden::dismiss);
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

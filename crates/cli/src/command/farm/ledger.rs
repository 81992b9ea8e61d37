//! What becomes of jobs, written as it happens: the journal, what jobs say, and a line for the user.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, BufWriter, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use garland_core::farm::{Journal, Record};
use garland_sys::clock;

use crate::failure::{Failure, OrFailure};
use crate::run::Run;

/// The journal's name in the run's folder.
const JOURNAL: &str = "journal.jsonl";

/// All records in the list's order, when a run has ended.
pub const RECORDS: &str = "records.jsonl";

/// The folder of what jobs have said.
const OUTPUT: &str = "output";

/// How often the user is told how far it is.
const SHOW_NS: u64 = 200_000_000;

/// The journal of a run, open for more.
pub struct Ledger {
    journal: Journal,
    file: Arc<File>,
    lines: Vec<u8>,
    folder: PathBuf,
    has_output: bool,
    syncing: Option<(Sender<()>, JoinHandle<()>)>,
    /// Jobs in all, and those of them that are done or have failed for good.
    jobs: usize,
    failed: usize,
    shows: bool,
    shown_ns: u64,
}

impl Ledger {
    /// Opens the journal of a run with so many jobs; what it says already counts.
    pub fn open(run: &Run, jobs: usize, quiet: bool) -> Result<Self, Failure> {
        let path = run.folder().join(JOURNAL);
        let opening = || format!("opening {}", path.display());
        let file = OpenOptions::new().create(true).append(true).read(true).mode(0o600).open(&path);
        let file = file.or_nothing(opening())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::usage(format!("the run {} goes on already", run.name())));
            }
            Err(TryLockError::Error(error)) => return Err(error).or_nothing(opening()),
        }
        let (journal, whole) = read(&file).or_nothing(opening())?;
        // What a controller was writing when it died is no record.
        file.set_len(whole).or_nothing(opening())?;
        let file = Arc::new(file);
        let (sync, wanted) = channel();
        let synced = Arc::clone(&file);
        let thread = std::thread::spawn(move || {
            while wanted.recv().is_ok() {
                while wanted.try_recv().is_ok() {}
                // A disk that fails now fails the next write, too, which is told.
                let _ = synced.sync_data();
            }
        });
        Ok(Self {
            journal,
            file,
            lines: Vec::new(),
            folder: run.folder().to_owned(),
            has_output: false,
            syncing: Some((sync, thread)),
            jobs,
            failed: 0,
            shows: !quiet && std::io::stderr().is_terminal(),
            shown_ns: 0,
        })
    }

    /// What is known of the jobs.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// When the last thing happened that it knows of, in seconds since the run began.
    pub fn last(&self) -> f64 {
        let times = self.journal.records().filter_map(|record| record.staged_out.or(record.ended));
        times.fold(0.0, f64::max)
    }

    /// A job is over.
    pub fn note(&mut self, record: Record) {
        // A record is always text: it has no unserialisable part.
        if serde_json::to_writer(&mut self.lines, &record).is_ok() {
            self.lines.push(b'\n');
        }
        self.failed += usize::from(!record.outcome.is_done());
        self.journal.note(record);
    }

    /// A job has said something.
    pub fn said(&mut self, job: u32, said: &[u8]) {
        let folder = self.folder.join(OUTPUT);
        if !self.has_output {
            // Writing says what is wrong, if anything is.
            let _ = fs::create_dir_all(&folder);
            self.has_output = true;
        }
        if let Err(error) = fs::write(folder.join(job.to_string()), said) {
            eprintln!("what job {job} said is lost: {}", garland_node::reason(&error));
        }
    }

    /// Writes what was noted, all together; shows how far it is.
    pub fn commit(&mut self, open: usize) -> Result<(), Failure> {
        if !self.lines.is_empty() {
            (&*self.file).write_all(&self.lines).or_nothing("writing the journal")?;
            self.lines.clear();
            if let Some((sync, _)) = &self.syncing {
                // The thread ends with this, and not before.
                let _ = sync.send(());
            }
        }
        let now = clock::now_ns();
        if self.shows && now.saturating_sub(self.shown_ns) > SHOW_NS {
            self.shown_ns = now;
            let failed = match self.failed {
                0 => String::new(),
                failed => format!(", {failed} failed"),
            };
            eprint!("\r{} of {} jobs{failed}\x1b[K", self.jobs - open.min(self.jobs), self.jobs);
        }
        Ok(())
    }

    /// Writes all records in the list's order, and gives them.
    pub fn close(mut self) -> Result<Vec<Record>, Failure> {
        if self.shows {
            eprint!("\r\x1b[K");
        }
        self.commit(0)?;
        if let Some((sync, thread)) = self.syncing.take() {
            drop(sync);
            // Its panic has been printed; there is nothing more to say about it here.
            let _ = thread.join();
        }
        let path = self.folder.join(RECORDS);
        let records = std::mem::take(&mut self.journal).into_records();
        let write = || -> std::io::Result<()> {
            let part = path.with_extension("part");
            let mut file = BufWriter::new(File::create(&part)?);
            for record in &records {
                serde_json::to_writer(&mut file, record)?;
                file.write_all(b"\n")?;
            }
            file.flush()?;
            fs::rename(part, &path)
        };
        write().or_nothing(format!("writing {}", path.display()))?;
        Ok(records)
    }
}

/// What a journal says, and how many bytes of it are whole lines.
fn read(file: &File) -> std::io::Result<(Journal, u64)> {
    let mut reader = BufReader::new(file);
    let (mut journal, mut whole, mut line) = (Journal::default(), 0, Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        if !line.ends_with(b"\n") {
            break;
        }
        whole += line.len() as u64;
        if let Ok(record) = serde_json::from_slice::<Record>(&line) {
            journal.note(record);
        }
        line.clear();
    }
    Ok((journal, whole))
}

//! The ledger of a run: writes the journal, the jobs' output, and the progress line as jobs end.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use garland_core::farm::{Journal, Record};
use garland_core::printable;
use garland_state::run::Run;
use garland_sys::channel::{Sender, channel};
use garland_sys::lock::{self, Lock};
use garland_sys::sync::Mutex;
use garland_sys::threads::JoinHandle;
use garland_sys::{clock, private_file, threads};
use garland_terminal::failure::{Failure, OrFailure};
use garland_terminal::output;
use garland_terminal::streams::{Arrangement, Streams};

use super::json_lines;

/// The journal's name in the run's directory.
const JOURNAL: &str = "journal.jsonl";

/// The name of the file with all records in the order of the jobs, written when the run ends.
pub const RECORDS: &str = "records.jsonl";

/// The directory of the jobs' output.
pub const OUTPUT: &str = "output";

/// The minimum interval between updates of the progress line, in nanoseconds.
const SHOW_NS: u64 = 200_000_000;

/// The message if the journal cannot be synced.
const SYNCING: &str = "cannot sync the run's journal (the run can be resumed)";

/// A thread that syncs the journal while jobs run.
struct Syncing {
    want: Sender<()>,
    thread: JoinHandle<()>,
    /// The error that ended the thread; written lines may be lost. None once it was returned.
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl Syncing {
    fn start(file: Arc<File>) -> io::Result<Self> {
        let failed = Arc::<Mutex<Option<io::Error>>>::default();
        let (told, (want, wanted)) = (Arc::clone(&failed), channel());
        let thread = threads::spawn("journal", move || {
            while wanted.recv().is_ok() {
                while wanted.try_recv().is_ok() {}
                if let Err(error) = file.sync_data() {
                    *told.lock() = Some(error);
                    return;
                }
            }
        })?;
        Ok(Self { want, thread, failed })
    }

    /// Requests a sync of the lines written so far.
    fn want(&self) {
        // Fails if the thread has ended after an error, which `result` returns.
        let _ = self.want.send(());
    }

    /// Fails if a sync has failed. Later calls succeed: the error is returned only once.
    fn result(&self) -> io::Result<()> {
        taken(&self.failed)
    }

    /// Waits until all requested syncs are done. Returns the first error unless `result` has
    /// returned it.
    fn end(self) -> io::Result<()> {
        let Self { want, thread, failed } = self;
        drop(want);
        // A panic of the thread has been printed already.
        let _ = thread.join();
        taken(&failed)
    }
}

fn taken(failed: &Mutex<Option<io::Error>>) -> io::Result<()> {
    failed.lock().take().map_or(Ok(()), Err)
}

/// The open journal of a run.
pub struct Ledger {
    journal: Journal,
    file: Arc<File>,
    lines: Vec<u8>,
    folder: PathBuf,
    has_output: bool,
    /// The jobs' output as it comes; none if it is not printed.
    streams: Option<Streams>,
    /// The jobs of whose output not all could be written.
    unwritten: BTreeSet<u32>,
    syncing: Option<Syncing>,
    /// Number of jobs in the list.
    jobs: usize,
    failed: usize,
    /// Whether progress is shown.
    shows: bool,
    shown_ns: u64,
    /// Whether the terminal's last line is the progress line.
    is_drawn: bool,
}

impl Ledger {
    /// Opens the journal of a run with `jobs` jobs, and reads the journal's records. The jobs'
    /// output is printed by `streams`, as outputs from 0. Without progress if `quiet`, or if output
    /// is printed as it comes. Fails if another process is executing the run.
    pub fn open(
        run: &Run,
        jobs: usize,
        quiet: bool,
        streams: Option<Streams>,
    ) -> Result<Self, Failure> {
        let path = run.folder().join(JOURNAL);
        let opening = || format!("cannot open {}", printable::path(&path));
        let file = OpenOptions::new().create(true).append(true).read(true).mode(0o600).open(&path);
        let file = file.or_nothing(opening())?;
        match lock::try_lock(&file) {
            // Without locks, the user must not resume the run twice at the same time.
            Ok(Lock::Held | Lock::Unsupported) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(Failure::usage(format!("cannot resume {}: it is running", run.name())));
            }
            Err(error) => return Err(error).or_nothing(opening()),
        }
        let (journal, whole) = read(&file).or_nothing(opening())?;
        // Remove the incomplete line of a controller that died while it wrote.
        file.set_len(whole).or_nothing(opening())?;
        let file = Arc::new(file);
        let syncing = Syncing::start(Arc::clone(&file)).or_nothing(opening())?;
        let is_live = |streams: &Streams| streams.arrangement() != Arrangement::Ended;
        let shows = !quiet && !streams.as_ref().is_some_and(is_live) && io::stderr().is_terminal();
        let mut ledger = Self {
            journal,
            file,
            lines: Vec::new(),
            folder: run.folder().to_owned(),
            has_output: false,
            streams,
            unwritten: BTreeSet::new(),
            syncing: Some(syncing),
            jobs,
            failed: 0,
            shows,
            shown_ns: 0,
            is_drawn: false,
        };
        // What an earlier controller ran has nothing more to print.
        let done: Vec<u32> =
            ledger.journal.records().filter(|it| it.outcome.is_done()).map(|it| it.job).collect();
        done.into_iter().for_each(|job| ledger.print(job, Streams::end));
        Ok(ledger)
    }

    /// Returns the records so far.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Returns the time at which the last job in the journal ended, in seconds since the start of
    /// the run; 0 if no job has ended.
    pub fn last(&self) -> f64 {
        let times = self.journal.records().filter_map(|record| record.staged_out.or(record.ended));
        times.fold(0.0, f64::max)
    }

    /// Adds the record of a job that has ended; [`Ledger::commit`] writes it.
    pub fn note(&mut self, record: Record) {
        // A record can always be serialized.
        if serde_json::to_writer(&mut self.lines, &record).is_ok() {
            self.lines.push(b'\n');
        }
        self.failed += usize::from(!record.outcome.is_done());
        self.erase();
        self.print(record.job, Streams::end);
        self.journal.note(record);
    }

    /// Writes the output of a job to the job's file. If that fails, the job is done, but the run
    /// fails.
    pub fn output(&mut self, job: u32, output: &[u8]) {
        let folder = self.folder.join(OUTPUT);
        if !self.has_output {
            // If this fails, the write below reports it.
            let _ = private_file::create_folder(&folder);
            self.has_output = true;
        }
        let path = folder.join(job.to_string());
        let written = private_file::replace_unsynced(&path, output);
        self.note_unwritten(job, written);
    }

    /// Records whether output of a job could not be written. Prints the first error at once: the
    /// others mostly have the same cause.
    fn note_unwritten(&mut self, job: u32, written: io::Result<()>) {
        let Err(error) = written else { return };
        if self.unwritten.is_empty() {
            let why = garland_sys::error::reason(&error);
            garland_terminal::errln!("error: cannot write the output of job {job}: {why}");
        }
        self.unwritten.insert(job);
    }

    /// Returns the jobs of whose output not all could be written.
    pub fn unwritten(&self) -> &BTreeSet<u32> {
        &self.unwritten
    }

    /// Notes that a job starts from its beginning.
    pub fn begins(&mut self, job: u32) {
        self.print(job, Streams::restart);
    }

    /// Prints or keeps output of a running job.
    pub fn wrote(&mut self, job: u32, is_error: bool, bytes: &[u8]) {
        self.print(job, |streams, number| match streams.has_room(number, bytes.len()) {
            true => streams.add(number, is_error, bytes),
            false => Err(ErrorKind::FileTooLarge.into()),
        });
    }

    /// Prints the output of jobs that have ended and wait for those before them in the list, which
    /// an interrupt has ended.
    pub fn print_waiting(&mut self) {
        self.erase();
        let printed = self.streams.as_mut().map(Streams::end_waiting).unwrap_or_default();
        for (at, result) in printed {
            self.note_unwritten(at.saturating_add(1), result);
        }
    }

    fn print(&mut self, job: u32, print: impl FnOnce(&mut Streams, u32) -> io::Result<()>) {
        let printed = self.streams.as_mut().map(|streams| print(streams, number(job)));
        self.note_unwritten(job, printed.unwrap_or(Ok(())));
    }

    /// Writes the records that were added, and updates the progress line. `open` is the number of
    /// jobs that have not ended.
    pub fn commit(&mut self, open: usize) -> Result<(), Failure> {
        if !self.lines.is_empty() {
            (&*self.file).write_all(&self.lines).or_nothing("cannot write the run's journal")?;
            self.lines.clear();
            self.syncing.iter().for_each(Syncing::want);
        }
        self.syncing.as_ref().map_or(Ok(()), Syncing::result).or_nothing(SYNCING)?;
        let now = clock::now_ns();
        if self.shows && now.saturating_sub(self.shown_ns) > SHOW_NS {
            self.shown_ns = now;
            let failed = match self.failed {
                0 => String::new(),
                failed => format!(", {failed} failed"),
            };
            let is_cut = self.streams.as_ref().is_some_and(Streams::is_within_line);
            let line_end = if is_cut && !self.is_drawn { "\n" } else { "" };
            let done = self.jobs - open.min(self.jobs);
            progress(line_end, &format!("{done} of {} jobs{failed}", self.jobs));
            self.is_drawn = true;
        }
        Ok(())
    }

    /// Removes the progress line, so that output can be printed in its place.
    fn erase(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            progress("", "");
        }
    }

    /// Writes all records to [`RECORDS`], in the order of the jobs, and returns them.
    pub fn close(mut self) -> Result<Vec<Record>, Failure> {
        self.erase();
        self.shows = false;
        self.commit(0)?;
        self.syncing.take().map_or(Ok(()), Syncing::end).or_nothing(SYNCING)?;
        let path = self.folder.join(RECORDS);
        let records = std::mem::take(&mut self.journal).into_records();
        let part = path.with_extension("part");
        let written = json_lines::write(&part, records.iter());
        let written = written.and_then(|_| fs::rename(part, &path));
        written.or_nothing(format!("cannot write {}", printable::path(&path)))?;
        Ok(records)
    }
}

/// Returns the number of a job's output: jobs are numbered from 1.
fn number(job: u32) -> u32 {
    job.saturating_sub(1)
}

/// Draws the progress line in place of the last one, after what ends the line before it.
fn progress(line_end: &str, line: &str) {
    let line = output::readable(line);
    // A closed terminal is no error.
    let _ = io::stderr().write_all(format!("{line_end}\r{line}\x1b[K").as_bytes());
}

/// Reads a journal. Returns its records, and the length of its complete lines in bytes.
fn read(file: &File) -> io::Result<(Journal, u64)> {
    let mut reader = BufReader::new(file);
    let mut journal = Journal::default();
    let mut whole = 0;
    let mut line = Vec::new();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_cannot_be_synced_is_an_error() {
        // Writes to /dev/null succeed, but it cannot be synced.
        let open = || Arc::new(OpenOptions::new().write(true).open("/dev/null").unwrap());
        let syncing = Syncing::start(open()).unwrap();
        assert!(syncing.result().is_ok(), "no sync was requested");
        syncing.want();
        assert!(syncing.end().is_err());
        assert!(Syncing::start(open()).unwrap().end().is_ok());
    }
}

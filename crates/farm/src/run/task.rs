//! Makes the task that a node gets for a job, with the paths of the job's files on that node.

use garland_core::farm::staging::{path_inside, unfinished};
use garland_core::farm::{Command, Job, Text};
use garland_protocol::copy::content_digest;
use garland_protocol::farm::FarmTask;

/// The paths of jobs' files on nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobFiles {
    /// The jobs' own paths, relative to the directory in which jobs run.
    There,
    /// Paths in the job's own directory.
    Inside,
    /// Paths below the first directory, on which the root of the machine with the files is mounted.
    /// Relative paths of a job start at the second directory, which is on that machine.
    Under(Text, Text),
}

/// A try of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobTry {
    /// Its number, counted from 1.
    pub number: u32,
    /// Whether the job goes on from its checkpoint.
    pub restored: bool,
    /// From what the names of the directories of unfinished outputs are made, chosen by chance for
    /// each run. It is in none of them: who sees one job's cannot foretell another's.
    pub secret: [u8; 16],
}

impl JobTry {
    /// Returns what is in the name of the directory of unfinished outputs of `job` in this try.
    fn mark(&self, job: u32) -> u64 {
        let bytes = [&self.secret[..], &job.to_le_bytes(), &self.number.to_le_bytes()].concat();
        let digest = content_digest(&bytes);
        digest.iter().take(8).fold(0, |mark, &byte| mark << 8 | u64::from(byte))
    }
}

impl JobFiles {
    /// Makes the task for a try of a job.
    pub fn task(&self, job: &Job, this_try: JobTry) -> FarmTask {
        let JobTry { number, restored, .. } = this_try;
        let mark = this_try.mark(job.number);
        let has_state = job.checkpoint.as_ref().is_some_and(|saved| !saved.state.is_empty());
        let has_files = !job.inputs.is_empty() || !job.outputs.is_empty() || has_state;
        let path = |name: &Text| match self {
            Self::There => name.clone(),
            Self::Inside => path_inside(name),
            Self::Under(mount, folder) => under(mount, folder, name),
        };
        let inputs: Vec<Text> = job.inputs.iter().map(path).collect();
        let outputs: Vec<(Text, Text)> = job
            .outputs
            .iter()
            .enumerate()
            .map(|(at, output)| {
                let name = path(output);
                // In the job's own directory the output needs no temporary name, unless its own is
                // that of an input, which the command still reads.
                let is_alone = *self == Self::Inside && !inputs.contains(&name);
                let hidden = !is_alone && job.names_output(at);
                let made =
                    if hidden { unfinished(&name, job.number, number, mark) } else { name.clone() };
                (made, name)
            })
            .collect();
        let made: Vec<Text> = outputs.iter().map(|(made, _)| made.clone()).collect();
        let saved = job.checkpoint_with(&inputs, &made);
        let restore = saved.as_ref().filter(|_| restored).map(|saved| saved.restore.clone());
        let (checkpoint, state) = saved.map(|saved| (saved.command, saved.state)).unzip();
        // Elsewhere all nodes reach them under the same names.
        let state = state.filter(|_| *self == Self::Inside).unwrap_or_default();
        FarmTask {
            job: job.number,
            command: restore.map_or_else(|| job.command_with(&inputs, &made), Command::Line),
            own_folder: *self == Self::Inside && has_files,
            checkpoint,
            state: state.iter().map(path_inside).collect(),
            outputs,
            cores: job.cores,
            timeout_ns: job.timeout.map(|timeout| timeout.0),
        }
    }
}

fn under(mount: &Text, folder: &Text, name: &Text) -> Text {
    let slash: &[u8] = b"/";
    match name.bytes().starts_with(slash) {
        true => Text([mount.bytes(), name.bytes()].concat()),
        false => Text([mount.bytes(), folder.bytes(), slash, name.bytes()].concat()),
    }
}

#[cfg(test)]
mod tests {
    use garland_core::farm::Checkpoint;

    use super::*;

    fn job() -> Job {
        let words = ["lame", "{in}", "{out}"].map(Text::from).to_vec();
        Job {
            inputs: vec!["/w/a.wav".into()],
            outputs: vec!["o/a.mp3".into()],
            ..Job::new(3, "a".into(), Command::Words(words))
        }
    }

    /// Returns a text in which the start of the hidden name stands between `before` and `after`.
    fn hidden(before: &str, number: u32, after: &str) -> String {
        format!("{before}.garland-3-{number}-{:016x}/{after}", this_try(number, false).mark(3))
    }

    fn this_try(number: u32, restored: bool) -> JobTry {
        JobTry { number, restored, secret: [7; 16] }
    }

    fn words(task: &FarmTask) -> String {
        let Command::Words(words) = &task.command else { panic!("{task:?}") };
        words.iter().map(Text::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn files_are_where_the_node_has_them() {
        let there = JobFiles::There.task(&job(), this_try(2, false));
        assert_eq!(words(&there), hidden("lame /w/a.wav o/", 2, "a.mp3"));
        assert_eq!(there.outputs, [(Text::from(&*hidden("o/", 2, "a.mp3")), "o/a.mp3".into())]);
        let inside = JobFiles::Inside.task(&job(), this_try(2, false));
        assert_eq!(words(&inside), "lame w/a.wav o/a.mp3");
        assert!(inside.own_folder);
        let same = Job { outputs: vec!["/w/a.wav".into()], ..job() };
        let same = JobFiles::Inside.task(&same, this_try(2, false));
        assert_eq!(words(&same), hidden("lame w/a.wav w/", 2, "a.wav"));
        let under =
            JobFiles::Under("/mfs".into(), "/data/u".into()).task(&job(), this_try(1, false));
        assert_eq!(words(&under), hidden("lame /mfs/w/a.wav /mfs/data/u/o/", 1, "a.mp3"));
    }

    #[test]
    fn a_restored_job_goes_on_with_its_files_under_the_same_names() {
        let command = "save {out}".into();
        let state = vec!["{out}".into(), "../map".into()];
        let saved = Checkpoint { command, restore: "go {in} {out}".into(), state };
        let job = Job { checkpoint: Some(saved), ..job() };
        let inside = JobFiles::Inside.task(&job, this_try(1, true));
        assert_eq!(inside.command, Command::Line("go 'w/a.wav' 'o/a.mp3'".into()));
        assert_eq!(inside.state, ["o/a.mp3".into(), "_/map".into()]);
        let there = JobFiles::There.task(&job, this_try(1, true));
        assert_eq!(
            there.command,
            Command::Line(Text::from(&*hidden("go '/w/a.wav' 'o/", 1, "a.mp3'")))
        );
        assert_eq!(there.checkpoint, Some(Text::from(&*hidden("save 'o/", 1, "a.mp3'"))));
        assert!(there.state.is_empty() && !there.own_folder);
        assert_eq!(
            words(&JobFiles::There.task(&job, this_try(1, false))),
            words(&JobFiles::There.task(&self::job(), this_try(1, false)))
        );
    }
}

//! Work that lasts as long as a test wants: a copy of a pipe that stays open, and jobs that wait
//! for a file.

use std::fs;
use std::io::{PipeWriter, Write};
use std::path::PathBuf;

use garland_testkit::{Garland, Running, Scratch, until};

/// A copy to local[1-2] and a job on each.
pub struct Work {
    source: PipeWriter,
    copy: Running,
    farm: Running,
    go: PathBuf,
}

impl Work {
    /// Begins both; the nodes have three blocks of the copy.
    pub fn begin(garland: &Garland<'_>, scratch: &Scratch) -> Self {
        let (reader, mut source) = std::io::pipe().expect("there are pipes");
        let copy = garland.start_cp_reading(&["-", "local[1-2]:/copied"], reader);
        // The rest of it fills no block: it stays at the head.
        source.write_all(&vec![7; (3 << 20) + 1]).expect("it is read");
        let go = scratch.path("go");
        let job = format!(
            "until [ -e {0} ]; do echo > {0}-$GARLAND_JOB; sleep 0.1; done\n",
            go.display()
        );
        fs::write(scratch.path("jobs"), job.repeat(2)).expect("it can be written");
        let roots = scratch.path("roots");
        let roots = roots.to_str().expect("it is text");
        let words = ["farm", "run", "--local-root", roots, "--slots", "1", "jobs", "local[1-2]"];
        let farm = garland.start(&words);
        let runs = |job: u32| scratch.path(format!("go-{job}")).exists();
        until("both jobs", || runs(1) && runs(2));
        Self { source, copy, farm, go }
    }

    /// Ends both, and well.
    pub fn end(self) {
        fs::write(&self.go, "").expect("it can be written");
        drop(self.source);
        let _ = self.copy.end().with_code(0);
        let _ = self.farm.end().with_code(0);
    }
}

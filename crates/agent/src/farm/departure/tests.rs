use std::fs;
use std::sync::Arc;

use garland_core::farm::Command;
use garland_protocol::farm::FarmEvent;
use garland_sys::channel::{Receiver, channel};

use super::*;
use crate::farm::{JobExecutor, Place};

/// A running job in its own directory, which is removed at the end.
struct Run {
    executor: JobExecutor,
    events: Receiver<FarmEvent>,
    own: PathBuf,
}

impl Run {
    /// Starts the job, and waits until its file `begun` is there.
    fn new(name: &str, line: &str, checkpoint: Option<&str>) -> Self {
        let own = std::env::temp_dir().join(format!("garland-{name}-{}", std::process::id()));
        fs::create_dir_all(own.join("1")).unwrap();
        let (tell, events) = channel();
        let tell = Arc::new(move |event| drop(tell.send(event)));
        let place = Place { folder: None, own: Some(own.clone()) };
        let mut executor = JobExecutor::new(1, place, false, tell).unwrap();
        executor.meter().unwrap();
        executor.take(vec![FarmTask {
            job: 1,
            command: Command::Line(format!("echo >begun; {line}").as_str().into()),
            own_folder: true,
            outputs: Vec::new(),
            cores: 1,
            timeout_ns: None,
            checkpoint: checkpoint.map(Text::from),
            state: checkpoint.map(|_| "state".into()).into_iter().collect(),
        }]);
        while !own.join("1/begun").exists() {
            std::thread::yield_now();
        }
        Self { executor, events, own }
    }

    /// Returns the next event that is no measurement.
    fn next(&self) -> FarmEvent {
        loop {
            match self.events.recv().unwrap() {
                FarmEvent::Used { .. } => {}
                event => return event,
            }
        }
    }

    /// Returns the outcome of the job, whose end is next.
    fn outcome(&self) -> Outcome {
        match self.next() {
            FarmEvent::Ended(mut ends) => ends.remove(0).outcome,
            event => panic!("{event:?}"),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.own);
    }
}

/// Asserts that the job leaves with its state, which has this length.
fn assert_left(run: &Run, length: u64) {
    match run.next() {
        FarmEvent::Results(1, files) => assert_eq!(files[0].length, length),
        event => panic!("{event:?}"),
    }
    let event = run.next();
    assert!(matches!(event, FarmEvent::Left(_)), "{event:?}");
}

#[test]
fn a_job_is_killed_when_its_work_is_saved() {
    let save = "test $GARLAND_JOB = 1 && kill -0 $GARLAND_JOB_PID && echo saved >state";
    let run = Run::new("killed", "sleep 1000", Some(save));
    run.executor.leave(1);
    assert_left(&run, 6);
}

#[test]
fn a_job_that_ends_as_it_saves_its_work_leaves() {
    let job = "trap 'echo x >state; exit 3' TERM; while :; do sleep 0.01; done";
    let save = "kill -TERM $GARLAND_JOB_PID; while kill -0 $GARLAND_JOB_PID; do sleep 0.01; done";
    let run = Run::new("ends", job, Some(save));
    run.executor.leave(1);
    assert_left(&run, 2);
}

#[test]
fn a_job_that_succeeds_during_its_checkpoint_has_its_result() {
    let job = "until [ -e state ]; do sleep 0.01; done";
    let run = Run::new("done", job, Some("echo >state; sleep 1000"));
    run.executor.leave(1);
    assert_eq!(run.outcome(), Outcome::Exit(0));
}

#[test]
fn a_job_stays_if_its_work_is_not_saved() {
    for (save, why) in [
        ("echo >failed; exit 7", "its checkpoint command failed: exit code 7"),
        ("echo >failed", "its checkpoint did not create the state file state"),
    ] {
        let run = Run::new("stays", "until [ -e go ]; do sleep 0.01; done; exit 4", Some(save));
        run.executor.leave(1);
        assert_eq!(run.next(), FarmEvent::Stays(1, why.to_owned()));
        run.executor.leave(1);
        fs::write(run.own.join("1/go"), "").unwrap();
        assert_eq!(run.outcome(), Outcome::Exit(4));
    }
}

#[test]
fn a_job_without_a_checkpoint_is_just_killed() {
    let run = Run::new("restarts", "sleep 1000", None);
    run.executor.leave(1);
    match run.next() {
        FarmEvent::Left(end) => assert_eq!(end.outcome, Outcome::Signal(9)),
        event => panic!("{event:?}"),
    }
    // Too late.
    run.executor.leave(1);
}

#[test]
fn running_jobs_are_measured() {
    let run = Run::new("measured", "while :; do :; done", None);
    let used = |event| match event {
        FarmEvent::Used { jobs, .. } => jobs.iter().map(|(_, used_ns)| used_ns).sum::<u64>(),
        event => panic!("{event:?}"),
    };
    while used(run.events.recv().unwrap()) == 0 {}
}

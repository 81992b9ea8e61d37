use garland_core::farm::Command;

use super::*;

fn rounds_of(jobs: u32) -> Rounds {
    let job = |number| Job::new(number, Text::from("x"), Command::Line("x".into()));
    Rounds::new((1..=jobs).map(job).collect(), Engine::Slurm, Tries::of_all(3))
}

fn numbers(round: &Round) -> Vec<u32> {
    round.jobs.iter().map(|job| job.number).collect()
}

fn end(rounds: &mut Rounds, job: u32, node: &str, code: i32) -> bool {
    rounds.ended(job, node.to_owned(), 0, Try::failed(Outcome::Exit(code)))
}

/// The job, node, tries and outcome of each record.
fn over(rounds: &mut Rounds) -> Vec<(u32, Option<String>, u32, Outcome)> {
    let record =
        |(_, record): (Job, Record)| (record.job, record.node, record.tries, record.outcome);
    rounds.over().into_iter().map(record).collect()
}

#[test]
fn only_failed_and_lost_jobs_are_tried_again() {
    let mut rounds = rounds_of(3);
    let round = rounds.begin(1.0).unwrap();
    assert_eq!((round.tries, numbers(&round)), (1, vec![1, 2, 3]));
    assert!(end(&mut rounds, 2, "b", 0) && end(&mut rounds, 1, "a", 7));
    assert_eq!((rounds.open(), rounds.left()), (1, 2));
    rounds.end();
    assert_eq!(over(&mut rounds), [(2, Some("b".to_owned()), 1, Outcome::Exit(0))]);
    let round = rounds.begin(2.0).unwrap();
    assert_eq!((round.tries, numbers(&round)), (2, vec![1, 3]));
    // The end of a job that is over, and one that the round does not have.
    assert!(!end(&mut rounds, 2, "b", 1) && !end(&mut rounds, 9, "b", 0));
    assert!(end(&mut rounds, 1, "b", 0) && end(&mut rounds, 3, "b", 0));
    assert!(!end(&mut rounds, 3, "b", 1), "the first end counts");
    let queued = rounds.over().into_iter().map(|(_, record)| record.queued);
    assert_eq!(queued.collect::<Vec<_>>(), [Some(2.0); 2]);
    assert_eq!((rounds.left(), rounds.begin(3.0)), (0, None));
    assert_eq!(rounds.nodes().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_job_without_tries_is_over_with_its_last_result() {
    let mut rounds = rounds_of(2);
    for tries in 1..=3 {
        assert_eq!(rounds.begin(0.0).unwrap().tries, tries);
        assert_eq!(over(&mut rounds), []);
        end(&mut rounds, 1, "a", 7);
        rounds.blame(2, vec!["killed".into()]);
        rounds.end();
    }
    let records = rounds.over();
    assert_eq!(records[1].1.last_words, [Text::from("killed")]);
    rounds.over = records;
    let wanted = [(1, Some("a".to_owned()), 3, Outcome::Exit(7)), (2, None, 3, Outcome::NodeLost)];
    assert_eq!(over(&mut rounds), wanted);
    assert_eq!((rounds.left(), rounds.begin(0.0)), (0, None));
}

#[test]
fn restarts_by_the_engine_are_tries_of_the_record_only() {
    let mut rounds = rounds_of(1);
    rounds.begin(0.0).unwrap();
    rounds.ended(1, "a".to_owned(), 5, Try::failed(Outcome::Exit(1)));
    assert_eq!(rounds.begin(0.0).unwrap().tries, 2);
    rounds.ended(1, "a".to_owned(), 5, Try::failed(Outcome::Exit(0)));
    assert_eq!(over(&mut rounds), [(1, Some("a".to_owned()), 7, Outcome::Exit(0))]);
}

#[test]
fn nodes_on_which_jobs_failed_in_the_last_round_are_avoided_if_others_are_left() {
    let mut rounds = rounds_of(2);
    let names = ["a", "b", "c"].map(str::to_owned);
    let avoided = |round: &Round, names: &[String]| round.avoid(names.iter()).to_vec();
    let round = rounds.begin(0.0).unwrap();
    assert_eq!(avoided(&round, &names), [""; 0]);
    end(&mut rounds, 1, "b", 1);
    end(&mut rounds, 2, "x", 1);
    let round = rounds.begin(0.0).unwrap();
    assert_eq!(avoided(&round, &names), ["b", "x"]);
    assert_eq!(avoided(&round, &names[1..2]), [""; 0], "no other node is left");
    assert_eq!(avoided(&round, &names[2..]), [""; 0], "no job failed here");
    end(&mut rounds, 1, "a", 1);
    end(&mut rounds, 2, "a", 0);
    assert_eq!(avoided(&rounds.begin(0.0).unwrap(), &names), ["a"], "only the last round");
}

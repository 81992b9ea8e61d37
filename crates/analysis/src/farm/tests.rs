//! The published tables of 2004, and what must hold of any run.

use proptest::prelude::*;

use super::*;

/// Seconds of a time as it was published.
fn clock(minutes: u32, seconds: u32) -> f64 {
    f64::from(60 * minutes + seconds)
}

fn percent(share: f64, published: f64) {
    let given = share * 100.0;
    assert!((given - published).abs() < 0.006, "{given} %, and {published} % were published");
}

const THREE: Power = Power { one: 300.0, all: 900.0 };

#[test]
fn the_first_table_of_2004() {
    let one = clock(107, 39);
    for (slowest, fastest, of_one, difference, share) in [
        (clock(41, 12), clock(39, 1), 38.27, 131.0, 5.3),
        // The publication says 31 s, which contradicts its own times.
        (clock(39, 28), clock(38, 58), 36.66, 30.0, 1.3),
        // The publication says 34.98 %, truncated instead of rounded.
        (clock(37, 40), clock(36, 44), 34.99, 56.0, 2.5),
    ] {
        let whole = standing(one, slowest, THREE).unwrap();
        percent(whole.of_one, of_one);
        let jobs = spread(&[fastest + 5.0, slowest, fastest]).unwrap();
        assert_eq!((jobs.slowest_at, jobs.fastest_at), (1, 2));
        assert_eq!(jobs.difference, difference);
        assert!((jobs.share * 100.0 - share).abs() < 0.051, "{jobs:?}");
    }
}

#[test]
fn the_second_table_of_2004_with_its_equivalent_power() {
    let one = clock(53, 53);
    for (slowest, fastest, of_one, power, against, difference) in [
        (clock(28, 29), clock(21, 10), 52.86, 567.0, -36.94, 25.7),
        (clock(25, 56), clock(12, 4), 48.13, 623.0, -30.74, 53.5),
        // The publication says -8.88 %, computed from truncated 820 MHz.
        (clock(19, 42), clock(17, 38), 36.56, 820.0, -8.83, 10.5),
    ] {
        let whole = standing(one, slowest, THREE).unwrap();
        percent(whole.of_one, of_one);
        assert_eq!(whole.equivalent.floor(), power);
        percent(whole.difference, against);
        assert!((whole.efficiency - (1.0 + whole.difference)).abs() < 1e-12);
        let jobs = spread(&[slowest, fastest]).unwrap();
        assert!((jobs.share * 100.0 - difference).abs() < 0.051, "{jobs:?}");
    }
}

#[test]
fn the_bars_of_2004_and_their_new_bases() {
    let [hub, switch, star] = [clock(28, 29), clock(25, 56), clock(19, 42)];
    // The publication says 91.04 %, truncated instead of rounded.
    percent(switch / hub, 91.05);
    percent(star / hub, 69.16);
    percent(star / switch, 75.96);
    assert_eq!(bar(1.0).len(), BAR);
    assert_eq!(bar(switch / hub).len(), 46);
    assert_eq!(bar(star / switch), "O".repeat(38));
    assert_eq!((bar(0.0), bar(f64::NAN)), (String::new(), String::new()));
    assert_eq!(bar(7.0), "O".repeat(65) + "+");
}

#[test]
fn nothing_is_said_of_what_took_no_time() {
    assert_eq!(standing(0.0, 1.0, THREE), None);
    assert_eq!(standing(1.0, 0.0, THREE), None);
    assert_eq!(standing(1.0, 1.0, Power { one: f64::NAN, all: 1.0 }), None);
    assert_eq!(spread(&[]), None);
    assert_eq!(rounds(&[1.0], &[]), None);
    assert_eq!(losses(&[], &[], 1.0, Files::OnNodes), None);
}

const ONE: Worker = Worker { slots: 1, share: 1.0, speed: 1.0 };

#[test]
fn twenty_four_equal_jobs_come_in_whole_rounds() {
    for (nodes, efficiency) in [(5, 96.0), (7, 86.0), (11, 73.0), (16, 75.0), (23, 52.0)] {
        let workers = vec![ONE; nodes];
        let works = [1.0; 24];
        let used = fluid(&works, &workers).unwrap() / rounds(&works, &workers).unwrap();
        assert_eq!((used * 100.0).round(), efficiency, "{nodes} nodes");
    }
    // Two slots of a node equal two nodes; the slow node runs one job in the time of four on the
    // fast one.
    let two = [Worker { slots: 2, ..ONE }];
    assert_eq!(rounds(&[1.0; 5], &two), Some(3.0));
    let mixed = [ONE, Worker { share: 0.25, ..ONE }];
    assert_eq!(rounds(&[1.0; 5], &mixed), Some(4.0));
    assert_eq!(rounds(&[1.0; 4], &mixed), Some(4.0), "as good as none on the slow one");
}

fn task(worker: usize, started: f64, ended: f64, cpu: f64) -> Task {
    Task { worker, queued: 0.0, staged_in: None, started, ended, staged_out: None, cpu: Some(cpu) }
}

fn of(found: &Losses, causes: [f64; 5]) {
    for (cause, wanted) in Loss::ALL.into_iter().zip(causes) {
        let given = found.of(cause);
        assert!((given - wanted).abs() < 1e-9, "{cause:?}: {given}, not {wanted}: {found:?}");
    }
    let sum: f64 = found.causes.iter().map(|(_, seconds)| seconds).sum();
    assert!((found.work + sum - found.whole).abs() < 1e-9, "{found:?}");
}

#[test]
fn a_last_round_that_is_not_full_is_no_stragglers_fault() {
    let tasks = [task(0, 0.0, 1.0, 1.0), task(1, 0.0, 1.0, 1.0), task(0, 1.0, 2.0, 1.0)];
    let found = losses(&tasks, &[ONE; 2], 2.0, Files::OnNodes).unwrap();
    assert_eq!((found.work, found.whole_jobs), (1.5, 2.0));
    of(&found, [0.5, 0.0, 0.0, 0.0, 0.0]);
    // All on one node is worse than necessary.
    let tasks = [task(0, 0.0, 1.0, 1.0), task(0, 1.0, 2.0, 1.0)];
    of(&losses(&tasks, &[ONE; 2], 2.0, Files::OnNodes).unwrap(), [0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn jobs_wait_for_their_files_where_these_are() {
    let tasks = [task(0, 0.0, 4.0, 3.0)];
    of(&losses(&tasks, &[ONE], 4.0, Files::OnNodes).unwrap(), [0.0, 0.0, 1.0, 0.0, 0.0]);
    of(&losses(&tasks, &[ONE], 4.0, Files::Mounted).unwrap(), [0.0, 1.0, 0.0, 0.0, 0.0]);
    // A node limited to half a CPU works twice as long.
    let half = Worker { share: 0.5, ..ONE };
    of(&losses(&[task(0, 0.0, 6.0, 3.0)], &[half], 6.0, Files::OnNodes).unwrap(), [0.0; 5]);
    // The waiting of a job with unknown CPU time is unknown.
    let unknown = Task { cpu: None, ..tasks[0] };
    let found = losses(&[unknown], &[ONE], 4.0, Files::OnNodes).unwrap();
    assert!(!found.counted);
    of(&found, [0.0; 5]);
}

#[test]
fn a_free_slot_waits_for_inputs_or_for_the_engine() {
    let staged = Task { staged_in: Some(2.0), staged_out: Some(7.0), ..task(0, 2.5, 6.0, 3.5) };
    let found = losses(&[staged], &[ONE], 7.5, Files::OnNodes).unwrap();
    // 2 s for the inputs, 0.5 s until the start, 1 s for the outputs, and 0.5 s of idling.
    of(&found, [0.0, 3.0, 0.0, 0.5, 0.5]);
    let late = [task(0, 0.25, 1.0, 0.75), task(0, 1.5, 2.0, 0.5)];
    of(&losses(&late, &[ONE], 2.0, Files::OnNodes).unwrap(), [0.0, 0.0, 0.0, 0.75, 0.0]);
}

#[test]
fn jobs_that_start_all_at_once_share_their_node() {
    let tasks: Vec<Task> = (0..4).map(|_| task(0, 0.0, 4.0, 1.0)).collect();
    of(&losses(&tasks, &[ONE], 4.0, Files::Mounted).unwrap(), [0.0; 5]);
    assert_eq!(slowdown(&tasks, &[ONE]), Some(4.0));
    let one = [task(0, 0.0, 1.0, 1.0)];
    assert_eq!(slowdown(&one, &[ONE]), Some(1.0));
    let slow = [Worker { share: 0.25, ..ONE }, ONE];
    assert_eq!(slowdown(&[task(0, 0.0, 4.0, 1.0)], &slow), Some(4.0), "the fast node was there");
}

#[test]
fn the_cheapest_power_need_not_be_the_fastest() {
    let one = |seconds, price, equivalent| Candidate { seconds, price, equivalent };
    let ranks = rank(&[
        one(28.0, Some(400.0), Some(567.0)),
        one(26.0, Some(600.0), Some(623.0)),
        one(20.0, None, Some(820.0)),
    ]);
    assert_eq!(ranks.iter().map(|one| one.place).collect::<Vec<_>>(), [3, 2, 1]);
    let by_price: Vec<_> = ranks.iter().map(|one| one.price_place).collect();
    assert_eq!(by_price, [Some(1), Some(2), None]);
    // Without a common unit of power, the price per hour counts.
    let ranks = rank(&[one(3600.0, Some(2.0), None), one(7200.0, Some(1.5), Some(1.0))]);
    assert_eq!(ranks[0].price_per_performance, Some(2.0));
    assert_eq!((ranks[0].price_place, ranks[1].price_place), (Some(1), Some(2)));
}

fn some_task() -> impl Strategy<Value = Task> {
    let whole = (0_usize..3, 0.0..5.0_f64, 0.0..4.0_f64, 0.0..5.0_f64);
    let more = (proptest::option::of(0.0..5.0_f64), proptest::option::of(0.0..3.0_f64));
    (whole, more).prop_map(|((worker, started, ran, cpu), (staged_in, out))| Task {
        staged_in: staged_in.map(|there: f64| there.min(started)),
        staged_out: out.map(|out| started + ran + out),
        ..task(worker, started, started + ran, cpu)
    })
}

proptest! {
    #[test]
    fn every_second_has_one_cause(
        tasks in proptest::collection::vec(some_task(), 0..20),
        slots in proptest::collection::vec((1_u32..4, 0.1..1.0_f64, 0.5..2.0_f64), 3),
    ) {
        let worker = |(slots, share, speed)| Worker { slots, share, speed };
        let workers: Vec<Worker> = slots.into_iter().map(worker).collect();
        let whole = tasks.iter().map(Task::done).fold(0.5, f64::max);
        for files in [Files::OnNodes, Files::Mounted] {
            let found = losses(&tasks, &workers, whole, files).unwrap();
            let sum: f64 = found.causes.iter().map(|(_, seconds)| seconds).sum();
            prop_assert!((found.work + sum - whole).abs() < 1e-6, "{found:?}");
            prop_assert!(found.causes.iter().all(|(_, seconds)| *seconds > -1e-9), "{found:?}");
        }
    }

    #[test]
    fn whole_jobs_are_never_faster_than_pieces(
        works in proptest::collection::vec(0.0..10.0_f64, 1..30),
        paces in proptest::collection::vec(0.1..4.0_f64, 1..6),
    ) {
        let workers: Vec<Worker> =
            paces.iter().map(|&speed| Worker { slots: 1, share: 1.0, speed }).collect();
        let least = fluid(&works, &workers).unwrap();
        let whole = rounds(&works, &workers).unwrap();
        let longest = works.iter().copied().fold(0.0, f64::max);
        let fastest = paces.iter().copied().fold(0.0, f64::max);
        prop_assert!(whole >= least - 1e-9 && whole >= longest / fastest - 1e-9);
        prop_assert!(whole <= works.iter().sum::<f64>() / fastest + 1e-9, "one node alone does it so");
    }
}

use proptest::prelude::*;

use super::*;

/// A node's clock: the head's, with a rate, an offset, and optionally a step.
#[derive(Clone, Copy, Debug)]
struct Crystal {
    ahead: i64,
    ppm: f64,
    step: Option<(i64, i64)>,
}

impl Crystal {
    /// Returns its reading at a moment of the head's clock.
    fn shows(&self, head: i64) -> i64 {
        let stepped = self.step.filter(|(after, _)| head >= *after).map_or(0, |(_, by)| by);
        head + self.ahead + (head as f64 * self.ppm / 1e6) as i64 + stepped
    }
}

/// Pseudo-random delays: usually close to `least`, sometimes much longer.
struct Delays {
    state: u64,
    least: i64,
}

impl Delays {
    fn next(&mut self) -> i64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let chance = (self.state >> 33) as i64;
        let queue = if chance % 5 == 0 { chance % 3_000_000 } else { chance % 20_000 };
        self.least + queue
    }
}

/// Round trips from the head to node `to`, `apart` nanoseconds apart.
fn exchanges(
    crystal: &Crystal,
    to: usize,
    times: usize,
    apart: i64,
    there: &mut Delays,
    back: &mut Delays,
) -> Vec<Exchange> {
    let ask = |k: usize| {
        let sent = 1_000_000_000 + k as i64 * apart;
        let came = sent + there.next();
        let answered = came + 5_000;
        let received = crystal.shows(came);
        Exchange {
            from: 0,
            to,
            sent,
            received,
            answered: crystal.shows(answered),
            back: answered + back.next(),
        }
    };
    (0..times).map(ask).collect()
}

/// Returns the actual error of the converted time at a moment, and the reported error bound.
fn misjudged(clocks: &Clocks, crystal: &Crystal, at: i64) -> (i64, i64) {
    let moment = clocks.to_head(1, crystal.shows(at)).unwrap();
    ((moment.ns - at).abs(), i64::try_from(moment.error_ns).unwrap())
}

proptest! {
    #[test]
    fn an_offset_and_a_drift_are_found_within_the_error(
        ahead in -49_000_000_000_i64..49_000_000_000,
        ppm in -100.0..100.0_f64,
        there in 10_000..500_000_i64,
        back in 10_000..500_000_i64,
        seed in any::<u64>(),
    ) {
        let crystal = Crystal { ahead, ppm, step: None };
        let mut out = Delays { state: seed, least: there };
        let mut home = Delays { state: !seed, least: back };
        let probes = exchanges(&crystal, 1, 40, 250_000_000, &mut out, &mut home);
        let clocks = Clocks::estimate(2, &probes, &[]);
        prop_assert!(clocks.steps(1).is_empty());
        for at in [1_000_000_000, 3_333_333_333, 10_700_000_000] {
            let (off, error) = misjudged(&clocks, &crystal, at);
            prop_assert!(off <= error + 2, "{off} off, {error} told");
            // At most half of the fastest trips, plus what an unknown rate adds between them.
            prop_assert!(error < (there + back) / 2 + 150_000, "{error}");
        }
        let (slow, fast) = clocks.rates(1).unwrap();
        prop_assert!(slow * 1e6 <= ppm + 0.01 && fast * 1e6 >= ppm - 0.01, "{ppm}: {slow} to {fast}");
    }

    #[test]
    fn few_probes_tell_wide_intervals_and_true_ones(ahead in -1_000_000_i64..1_000_000, ppm in -100.0..100.0_f64, times in 1..4_usize, seed in any::<u64>()) {
        let crystal = Crystal { ahead, ppm, step: None };
        let mut out = Delays { state: seed, least: 50_000 };
        let mut home = Delays { state: !seed, least: 50_000 };
        let probes = exchanges(&crystal, 1, times, 5_000_000_000, &mut out, &mut home);
        let clocks = Clocks::estimate(2, &probes, &[]);
        for at in [1_000_000_000, 4_000_000_000] {
            let (off, error) = misjudged(&clocks, &crystal, at);
            prop_assert!(off <= error + 2, "{off} off, {error} told");
        }
    }

    #[test]
    fn a_step_is_found_where_it_is(by in 2_000_000..60_000_000_000_i64, back in any::<bool>(), after in 3..9_i64, seed in any::<u64>()) {
        let by = if back { -by } else { by };
        let crystal = Crystal { ahead: 100_000_000_000, ppm: 20.0, step: Some((after * 1_000_000_000 + 60_000_000, by)) };
        let mut out = Delays { state: seed, least: 40_000 };
        let mut home = Delays { state: !seed, least: 40_000 };
        let probes = exchanges(&crystal, 1, 44, 250_000_000, &mut out, &mut home);
        let clocks = Clocks::estimate(2, &probes, &[]);
        let steps = clocks.steps(1);
        prop_assert_eq!(steps.len(), 1);
        let error = i64::try_from(steps[0].error_ns).unwrap();
        prop_assert!((steps[0].by_ns - by).abs() <= error + 2, "{:?}", steps);
        prop_assert!(error < 4_000_000);
        // Well before and after the step, the clock is known as usual.
        for at in [1_500_000_000, 11_500_000_000] {
            let (off, error) = misjudged(&clocks, &crystal, at);
            prop_assert!(off <= error + 2 || back, "{off} off, {error} told");
        }
    }

    #[test]
    fn messages_make_the_error_smaller_and_never_wrong(ahead in -1_000_000_i64..1_000_000, seed in any::<u64>()) {
        // Slow probes, and fast data from the head to node 1.
        let crystal = Crystal { ahead, ppm: 30.0, step: None };
        let mut out = Delays { state: seed, least: 900_000 };
        let mut home = Delays { state: !seed, least: 900_000 };
        let probes = exchanges(&crystal, 1, 20, 250_000_000, &mut out, &mut home);
        let block = |k: i64| {
            let sent = 1_000_000_000 + k * 10_000_000;
            Message { from: 0, to: 1, sent, received: crystal.shows(sent + 30_000) }
        };
        let messages: Vec<Message> = (0..400).map(block).collect();
        let alone = Clocks::estimate(2, &probes, &[]);
        let together = Clocks::estimate(2, &probes, &messages);
        let (off, error) = misjudged(&together, &crystal, 3_000_000_000);
        let (_, before) = misjudged(&alone, &crystal, 3_000_000_000);
        prop_assert!(off <= error + 2 && error < before * 7 / 10, "{off}, {error}, {before}");
        prop_assert_eq!(together.contradictions(1), 0);
    }
}

#[test]
fn probes_between_nodes_tighten_and_loops_close() {
    let crystals = [
        Crystal { ahead: 5_000_000, ppm: 10.0, step: None },
        Crystal { ahead: -9_000_000, ppm: -10.0, step: None },
    ];
    let mut probes = Vec::new();
    for (to, crystal) in (1..).zip(&crystals) {
        let mut out = Delays { state: 1, least: 800_000 };
        let mut home = Delays { state: 2, least: 800_000 };
        probes.extend(exchanges(crystal, to, 20, 250_000_000, &mut out, &mut home));
    }
    let star = Clocks::estimate(3, &probes, &[]);
    let between = |k: i64, lie: i64| {
        let at = 1_000_000_000 + k * 250_000_000;
        Exchange {
            from: 1,
            to: 2,
            sent: crystals[0].shows(at),
            received: crystals[1].shows(at + 20_000) + lie,
            answered: crystals[1].shows(at + 25_000) + lie,
            back: crystals[0].shows(at + 45_000),
        }
    };
    let closed: Vec<Exchange> =
        probes.iter().copied().chain((0..20).map(|k| between(k, 0))).collect();
    let clocks = Clocks::estimate(3, &closed, &[]);
    assert!(clocks.open_loops().is_empty());
    let at = crystals[1].shows(3_000_000_000);
    let before = star.to_head(2, at).unwrap();
    let now = clocks.to_head(2, at).unwrap();
    assert!(
        now.error_ns <= before.error_ns
            && (now.ns - 3_000_000_000).unsigned_abs() <= now.error_ns + 2
    );
    let open: Vec<Exchange> =
        probes.into_iter().chain((0..20).map(|k| between(k, 30_000_000))).collect();
    let loops = Clocks::estimate(3, &open, &[]).open_loops().to_vec();
    assert_eq!(loops.len(), 1);
    assert_eq!(loops[0].nodes, [0, 1, 2]);
    assert!((25_000_000..=30_000_000).contains(&loops[0].miss_ns), "{loops:?}");
}

#[test]
fn a_message_that_came_before_it_was_sent_is_counted() {
    let crystal = Crystal { ahead: 0, ppm: 0.0, step: None };
    let mut out = Delays { state: 1, least: 10_000 };
    let mut home = Delays { state: 2, least: 10_000 };
    let probes = exchanges(&crystal, 1, 20, 250_000_000, &mut out, &mut home);
    let early = Message { from: 0, to: 1, sent: 2_000_000_000, received: 1_990_000_000 };
    assert_eq!(Clocks::estimate(2, &probes, &[early]).contradictions(1), 1);
    assert!(Clocks::estimate(2, &[], &[]).to_head(1, 5).is_none());
}

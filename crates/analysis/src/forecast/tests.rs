use proptest::prelude::*;

use super::law::shared;
use super::*;

fn wire(seconds: f64) -> Vec<Demand> {
    vec![Demand { name: "hub bus".to_owned(), seconds }]
}

fn points(counts: &[u32], times: &[f64]) -> Vec<Point> {
    let pairs = counts.iter().zip(times);
    pairs.map(|(&nodes, &seconds)| Point { nodes, seconds }).collect()
}

/// The points of a farm by a law.
fn farm(law: Law, alone: f64, demands: &[Demand], counts: &[u32]) -> Vec<Point> {
    points(counts, &shared(law, alone, None, demands, counts))
}

fn asked<'a>(points: &'a [Point], demands: &'a [Demand], ahead: &'a [u32]) -> Question<'a> {
    Question { points, work: Work::Fixed { jobs: None, demands }, ahead, prices: None }
}

#[test]
fn twenty_four_nodes_behave_like_fifteen() {
    let demands = wire(10.0);
    for law in [Law::Turns, Law::Queue, Law::Lockstep] {
        // One node takes 150 s, of which the bus is busy for 10: it saturates at 15.
        let measured = farm(law, 150.0, &demands, &[1, 2, 4, 8]);
        let told = forecast(&asked(&measured, &demands, &[16, 24])).unwrap();
        let knee = told.knee.clone().unwrap();
        assert_eq!(knee.resource, "hub bus");
        // All laws fit these points, so the knee is not exact.
        assert!((knee.nodes - 15.0).abs() < 1.0, "{law:?}: {knee:?}");
        let truth = shared(law, 150.0, None, &demands, &[16, 24]);
        for (at, truth) in told.curve.iter().zip(truth) {
            let (low, high) = at.interval.unwrap();
            assert!(
                low <= truth && truth <= high,
                "{law:?} at {}: {truth} in {low}..{high}",
                at.nodes
            );
        }
        assert!(told.back_test.unwrap().error.abs() < 0.05, "{law:?}: {:?}", told.back_test);
    }
}

#[test]
fn an_interval_is_widened_for_what_another_method_says_and_the_rest_stays() {
    let demands = wire(10.0);
    let measured = farm(Law::Queue, 150.0, &demands, &[1, 2, 4, 8]);
    let before = forecast(&asked(&measured, &demands, &[16, 24])).unwrap();
    let mut told = before.clone();
    let (low, high) = before.curve[0].interval.unwrap();
    told.hold(16, high * 1.1, 0.05);
    told.hold(99, 1.0, 0.0);
    assert_eq!(told.curve[0].interval, Some((low, high * 1.1 * 1.05)));
    assert_eq!(told.curve[0].seconds, before.curve[0].seconds);
    assert_eq!(told.curve[1], before.curve[1]);
    // A value inside the interval changes nothing.
    told.hold(24, before.curve[1].seconds, 0.0);
    assert_eq!(told.curve[1], before.curve[1]);
}

#[test]
fn what_is_exact_is_found_exactly() {
    let demands = wire(10.0);
    let measured = farm(Law::Turns, 150.0, &demands, &[1, 2, 4, 8, 12, 20]);
    let told = forecast(&asked(&measured, &demands, &[24])).unwrap();
    assert_eq!(told.law, Law::Turns);
    assert!((told.curve[0].power - 15.0).abs() < 0.1, "{told:?}");
    assert!(told.miss < 1e-3);
}

#[test]
fn amdahl_and_usl_find_their_own_parameters() {
    let counts = [1, 2, 4, 8, 16, 32];
    let time = |n: u32| {
        let n = f64::from(n);
        100.0 / n * (1.0 + 0.05 * (n - 1.0) + 0.001 * n * (n - 1.0))
    };
    let measured = points(&counts[..5], &counts[..5].iter().map(|n| time(*n)).collect::<Vec<_>>());
    let told = forecast(&asked(&measured, &[], &[32])).unwrap();
    let usl = told.usl.unwrap();
    assert!((usl.contention.value - 0.05).abs() < 1e-6, "{usl:?}");
    assert!((usl.coherency.value - 0.001).abs() < 1e-6, "{usl:?}");
    // The peak is at sqrt((1 - α) / β).
    assert!((usl.peak.unwrap() - (0.95_f64 / 0.001).sqrt()).abs() < 1e-3);
    assert!((told.curve[0].usl.unwrap() / time(32) - 1.0).abs() < 1e-6);
    let amdahl = told.amdahl.unwrap();
    assert!(amdahl.contention.error.unwrap() > 0.0 && amdahl.coherency.value == 0.0);
}

#[test]
fn what_cannot_carry_anything_is_refused() {
    let demands = wire(10.0);
    let refused = |points: &[Point], demands: &[Demand]| {
        forecast(&asked(points, demands, &[16])).unwrap_err().to_string()
    };
    assert!(refused(&[], &[]).starts_with("there are no measured points"));
    let same = points(&[4, 4, 4], &[10.0, 10.1, 9.9]);
    assert!(refused(&same, &demands).contains("says nothing about other node counts"));
    let two = points(&[1, 2], &[10.0, 5.5]);
    assert!(refused(&two, &[]).contains("which fit any curve"));
    let slower = points(&[1, 2, 4], &[10.0, 20.0, 30.0]);
    assert!(refused(&slower, &[]).contains("more nodes were slower"));
    let torn = points(&[1, 1, 2, 4], &[100.0, 20.0, 15.0, 10.0]);
    assert!(refused(&torn, &[]).contains("the work differed"));
    let quick = points(&[1, 2, 4], &[40.0, 20.0, 8.0]);
    assert!(refused(&quick, &demands).contains("alone needs"));
    let none = points(&[1, 2, 0], &[40.0, 20.0, 8.0]);
    assert!(refused(&none, &[]).contains("not a valid point"));
    let not = points(&[1, 2, 4], &[40.0, f64::NAN, 8.0]);
    assert!(refused(&not, &[]).contains("not a valid point"));
    assert!(refused(&two, &wire(f64::NAN)).contains("cannot be busy"));
    let fine = points(&[1, 2, 4], &[40.0, 21.0, 12.0]);
    assert_eq!(forecast(&asked(&fine, &[], &[0])), Err(Refusal::Ahead(0)));
}

#[test]
fn two_points_and_a_limit_give_a_knee_and_say_how_little_is_known() {
    let demands = wire(10.0);
    let measured = farm(Law::Queue, 150.0, &demands, &[1, 4]);
    let told = forecast(&asked(&measured, &demands, &[24])).unwrap();
    assert!((told.knee.unwrap().nodes - 15.0).abs() < 1.0);
    assert!(told.back_test.is_none() && !told.notes.is_empty());
}

#[test]
fn whole_rounds_are_seen() {
    let counts = [1, 2, 4, 8];
    let measured = points(&counts, &shared(Law::Queue, 240.0, Some(24), &[], &counts));
    let work = Work::Fixed { jobs: Some(24), demands: &[] };
    let ahead = [16, 23, 24, 30];
    let told =
        forecast(&Question { points: &measured, work, ahead: &ahead, prices: None }).unwrap();
    let times: Vec<f64> = told.curve.iter().map(|at| at.seconds.round()).collect();
    assert_eq!(times, [20.0, 20.0, 10.0, 10.0]);
    assert_eq!(told.knee.unwrap().resource, "the number of jobs");
}

#[test]
fn a_copy_has_what_each_node_adds() {
    let floor = |_: u32| Floor { seconds: 8.0, name: "n0 eth0 out".to_owned() };
    let counts = [1, 2, 5, 10];
    let times: Vec<f64> = counts.iter().map(|n| 8.0 + 0.5 + 0.05 * f64::from(*n)).collect();
    let measured = points(&counts, &times);
    let work = Work::Growing { floor: &floor, starts: 0.0 };
    let told = forecast(&Question { points: &measured, work, ahead: &[20], prices: None }).unwrap();
    assert!((told.curve[0].seconds - 9.5).abs() < 1e-6, "{told:?}");
    let knee = told.knee.unwrap();
    assert!((knee.nodes - 8.55 / 0.05).abs() < 1e-3, "{knee:?}");
    // If the nodes were started meanwhile, that is what more nodes cost; if that took nothing, it
    // is not.
    let by = |starts: f64| {
        let work = Work::Growing { floor: &floor, starts };
        let asked = Question { points: &measured, work, ahead: &[20], prices: None };
        forecast(&asked).unwrap().knee.unwrap().resource
    };
    assert!(by(0.04).starts_with("the launcher"), "{}", by(0.04));
    assert_eq!(by(0.01), "work done for one node after another");
    // A star's head sends to each.
    let floor = |n: u32| Floor { seconds: 8.0 * f64::from(n), name: "n0 eth0 out".to_owned() };
    let times: Vec<f64> = counts.iter().map(|n| 8.0 * f64::from(*n) + 1.0).collect();
    let measured = points(&counts, &times);
    let work = Work::Growing { floor: &floor, starts: 0.0 };
    let told = forecast(&Question { points: &measured, work, ahead: &[20], prices: None }).unwrap();
    assert_eq!(told.knee.unwrap().resource, "n0 eth0 out");
}

#[test]
fn prices_find_where_more_is_not_worth_it() {
    let demands = wire(10.0);
    let measured = farm(Law::Turns, 150.0, &demands, &[1, 2, 4, 8]);
    let ahead: Vec<u32> = (1..=64).collect();
    let prices = Some(Prices { node: 100.0, fixed: 500.0 });
    let told = forecast(&Question { prices, ..asked(&measured, &demands, &ahead) }).unwrap();
    let enough = told.enough.unwrap();
    assert!((14..=24).contains(&enough), "{enough}");
    let cost = |nodes: usize| told.curve[nodes - 1].cost.unwrap();
    assert_eq!(cost(10).price, 1500.0);
    assert!(cost(60).of_power > cost(12).of_power);
    assert!(cost(60).of_more.is_none_or(|more| more > 10.0 * cost(5).of_more.unwrap()));
}

fn all_finite(told: &Forecast) -> bool {
    let fits = [told.amdahl, told.usl].into_iter().flatten();
    let parameters = fits.flat_map(|fit| {
        let all = [fit.alone, fit.contention, fit.coherency];
        let values = all.into_iter().flat_map(|p| [Some(p.value), p.error]);
        values.chain([Some(fit.miss), fit.peak]).flatten().collect::<Vec<_>>()
    });
    let curve = told.curve.iter().flat_map(|at| {
        let (low, high) = at.interval.unwrap_or_default();
        let cost = at.cost.map_or([Some(0.0); 3], |c| [Some(c.price), Some(c.of_power), c.of_more]);
        let times = [Some(at.seconds), Some(low), Some(high), Some(at.power), at.amdahl, at.usl];
        times.into_iter().chain(cost).flatten().collect::<Vec<_>>()
    });
    let more = [told.miss, told.work_seconds, told.fixed_seconds];
    let knee = told.knee.iter().map(|knee| knee.nodes);
    let test = told.back_test.iter().flat_map(|test| [test.predicted, test.error]);
    parameters.chain(curve).chain(more).chain(knee).chain(test).all(f64::is_finite)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_measured_nothing_is_not_a_number(
        measured in prop::collection::vec((0_u32..70, prop_oneof![0.0..1e4_f64, Just(f64::NAN), Just(1e300)]), 0..7),
        busy in prop::collection::vec(prop_oneof![0.0..50.0_f64, Just(f64::INFINITY)], 0..3),
        jobs in prop::option::of(0_u32..50),
        growing: bool,
        each in 0.0..10.0_f64,
    ) {
        let measured: Vec<Point> = measured.into_iter().map(|(nodes, seconds)| Point { nodes, seconds }).collect();
        let demands: Vec<Demand> = busy.into_iter().map(|seconds| Demand { name: "r".to_owned(), seconds }).collect();
        let floor = move |nodes: u32| Floor { seconds: each * f64::from(nodes), name: "f".to_owned() };
        let work = if growing { Work::Growing { floor: &floor, starts: 0.0 } } else { Work::Fixed { jobs, demands: &demands } };
        let prices = Some(Prices { node: 3.0, fixed: each });
        let ahead = [1, 2, 3, 50, 5000];
        if let Ok(told) = forecast(&Question { points: &measured, work, ahead: &ahead, prices }) {
            prop_assert!(all_finite(&told), "{told:?}");
            prop_assert!(told.curve.iter().all(|at| at.seconds > 0.0));
            for at in &told.curve {
                if let Some((low, high)) = at.interval {
                    prop_assert!(low <= at.seconds && at.seconds <= high);
                }
            }
        }
    }

    #[test]
    fn points_of_a_farm_are_accepted_and_forecast_well(alone in 20.0..500.0_f64, part in 0.01..0.2_f64, noise in prop::collection::vec(-0.02..0.02_f64, 5)) {
        let demands = wire(alone * part);
        let counts = [1, 2, 3, 4, 6];
        let times = shared(Law::Queue, alone, None, &demands, &counts);
        let noisy: Vec<f64> = times.iter().zip(noise).map(|(time, noise)| time * (1.0 + noise)).collect();
        let measured = points(&counts, &noisy);
        let told = forecast(&asked(&measured, &demands, &[12])).unwrap();
        let truth = shared(Law::Queue, alone, None, &demands, &[12])[0];
        let at = &told.curve[0];
        let (low, high) = at.interval.unwrap();
        prop_assert!(low <= truth * 1.03 && truth <= high * 1.03, "{truth} in {low}..{high}");
    }
}

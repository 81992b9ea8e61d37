//! Whether `garland wires` finds what is wrong: `cargo xtask truth wires`.
//!
//! Each lab is drawn from a seed and its number, and has a fault that was put in from outside of
//! the program; as many healthy ones follow as five sixths of these. `GARLAND_TRUTH_WIRES_RUNS` is
//! how many labs with a fault there are. Without it, a few are made whose faults are far above
//! noise.

mod case;
mod scene;

use std::path::Path;

use garland_testkit::env_number;

use self::case::{Case, Fault};
use super::{SEED, TRIES, program};

#[test]
fn wires_name_the_faults_that_were_made() {
    let seed = env_number("GARLAND_TRUTH_SEED").unwrap_or(SEED);
    let Some(runs) = env_number("GARLAND_TRUTH_WIRES_RUNS") else { return few() };
    let only = env_number("GARLAND_TRUTH_RUN");
    let faulty = (1..=runs).map(|number| Case::draw(seed, number));
    let healthy = (1..=runs * 10 / 12).map(|number| Case::healthy(seed, number));
    let mut right = 0;
    let mut all = 0;
    let mut accused = 0;
    let mut quiet = 0;
    let mut companions = 0;
    let mut wrong = 0;
    for case in faulty.chain(healthy).filter(|case| only.is_none_or(|only| case.number == only)) {
        let Judged { is_right, others, wrong_rates } = judge(&case, &program());
        wrong += wrong_rates;
        if case.fault == Fault::None {
            quiet += 1;
            accused += u32::from(!is_right);
        } else {
            all += 1;
            right += u32::from(is_right);
            companions += others;
        }
    }
    println!("\nright part first: {right} of {all}; further faults that are none: {companions}");
    println!(
        "healthy labs with a fault: {accused} of {quiet}; rates that are wrong in all: {wrong}"
    );
}

/// What was found in a lab.
#[derive(PartialEq)]
struct Judged {
    /// Whether the first answer is right.
    is_right: bool,
    /// Further answers that are not.
    others: usize,
    /// The rates of pairs that differ from those of the wires.
    wrong_rates: usize,
}

/// Measures the lab of a case and prints it.
fn judge(case: &Case, program: &Path) -> Judged {
    let (result, code) = scene::measured(case, program);
    let faults = result["faults"].as_array().expect("a result has faults");
    assert_eq!(code == 4, !faults.is_empty(), "exit code {code}: {faults:#?}");
    let is_right = match faults.first() {
        Some(first) => case.is_named(first),
        None => case.fault == Fault::None,
    };
    let others = faults.iter().skip(1).filter(|fault| !case.is_named(fault)).count();
    let cpu = result["cpu"].as_f64().unwrap_or(0.0) * 100.0;
    let seconds = result["elapsed_ns"].as_f64().unwrap_or(0.0) / 1e9;
    let verdict = if is_right { "right" } else { "WRONG" };
    let wrong_rates = case.wrong_rates(&result);
    println!(
        "{case}\n  {verdict}; {wrong_rates} wrong rates; {seconds:.1} s, processors {cpu:.0} %"
    );
    faults.iter().for_each(|fault| println!("  {}", fault["text"].as_str().unwrap_or("?")));
    Judged { is_right, others, wrong_rates }
}

/// Measures a few labs. This machine does other things, too: each may be measured several times.
fn few() {
    let trunk = Some(true);
    let cases = [
        Case { number: 1, nodes: 5, trunk: None, fault: Fault::Loss(2, 30) },
        Case { number: 2, nodes: 6, trunk, fault: Fault::Trunk(30) },
        Case { number: 3, nodes: 4, trunk, fault: Fault::None },
    ];
    for case in cases {
        let well = Judged { is_right: true, others: 0, wrong_rates: 0 };
        assert!((0..TRIES).any(|_| judge(&case, &program()) == well), "{case}");
    }
}

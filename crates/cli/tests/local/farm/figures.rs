//! What a run of jobs comes to, and how runs are compared.

use garland_testkit::{Garland, Scratch};
use serde_json::Value;

use super::{garland_in, list};

/// A job that keeps a processor busy for a while.
const WORK: &str = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done\n";

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path}: {value}"))
}

/// Runs the list `jobs`; the result.
fn run(garland: &Garland<'_>, more: &[&str]) -> Value {
    garland.run(&[&["farm", "run", "jobs", "--json"], more].concat()).with_code(0).json()
}

fn name(result: &Value) -> String {
    result["run"].as_str().expect("a run has a name").to_owned()
}

#[test]
fn a_run_says_where_its_time_went_and_what_it_is_worth() {
    let scratch = Scratch::new("farm-figures");
    list(&scratch, "jobs", &WORK.repeat(5));
    let garland = garland_in(&scratch);
    let one = run(&garland, &["local1", "--slots", "1", "--unit", "300MHz"]);
    let base = name(&one);
    let more = ["local[1-2]", "--slots", "1", "--unit", "300MHz", "--base", &base];
    let two = run(&garland, &more);
    for result in [&one, &two] {
        let whole = number(result, "/losses/whole");
        let causes = result["losses"]["causes"].as_array().unwrap();
        let sum: f64 = causes.iter().map(|cause| cause[1].as_f64().unwrap()).sum();
        assert!((number(result, "/losses/work") + sum - whole).abs() < 1e-6, "{result}");
        assert!((number(result, "/total") - whole).abs() < 1e-6, "{result}");
        let spread = &result["spread"];
        let difference = number(spread, "/slowest") - number(spread, "/fastest");
        assert!((number(spread, "/difference") - difference).abs() < 1e-6, "{spread}");
    }
    assert_eq!(two["one"]["run"], base.as_str());
    assert!((number(&two, "/one/seconds") - number(&one, "/total")).abs() < 1e-6, "{two}");
    assert_eq!(number(&two, "/one/power"), 300.0);
    assert_eq!(number(&two, "/standing/theory"), 600.0);
    let speed_up = number(&one, "/total") / number(&two, "/total");
    assert!((number(&two, "/standing/equivalent") - 300.0 * speed_up).abs() < 1e-6, "{two}");
    // Whole jobs, longest first: how much CPU time each of them takes is for the machine to say.
    let jobs = two["records"].as_array().unwrap();
    let mut works: Vec<f64> = jobs.iter().map(|job| number(job, "/cpu")).collect();
    works.sort_by(|one, two| two.total_cmp(one));
    let mut ends = [0.0_f64; 2];
    works.iter().for_each(|work| ends[usize::from(ends[1] < ends[0])] += work);
    let whole_jobs = ends[0].max(ends[1]);
    assert!((number(&two, "/losses/whole_jobs") - whole_jobs).abs() < 1e-6, "{two}");
    assert!(whole_jobs > number(&two, "/losses/work"), "{two}");
    let said = garland.run(&[&["farm", "run", "jobs"], &more[..]].concat()).with_code(0);
    let lines: Vec<&str> = said.err.lines().collect();
    assert_eq!((said.out.as_str(), lines.len()), ("", 4), "{}", said.err);
    assert!(lines[1].starts_with("power   ") && lines[1].contains("; lost most: "), "{}", said.err);
    // All figures are in a run's record.
    let said = garland.run(&["farm", "run", "--resume", "last", "--analysis"]).with_code(0);
    for wanted in [
        "DIFF",
        "OOOO",
        "equivalent power",
        "integer rounds",
        "a cluster of 2 PCs at 300 MHz equals",
    ] {
        assert!(said.out.contains(wanted), "{wanted}: {}", said.out);
    }
    scratch.assert_nothing_left();
}

#[test]
fn runs_are_rebased_and_ranked_by_time_and_price() {
    let scratch = Scratch::new("farm-compare");
    list(&scratch, "jobs", &"sleep 0.1\n".repeat(4));
    let garland = garland_in(&scratch);
    let [slow, fast] = ["1", "4"].map(|slots| {
        name(&run(&garland, &["local1", "--slots", slots, "--unit", "cores", "--price", "100"]))
    });
    let dear = format!("{fast}=1000000");
    let words = ["farm", "compare", &slow, &fast, "--base", &fast, "--price", &dear, "--json"];
    let result = garland.run(&words).with_code(0).json();
    let rows = result["runs"].as_array().unwrap();
    assert_eq!(number(&rows[1], "/of_base"), 1.0);
    assert!(number(&rows[0], "/of_base") > 1.2, "{result}");
    assert_eq!((&rows[0]["place"], &rows[1]["place"]), (&2.into(), &1.into()));
    assert_eq!((&rows[0]["price_place"], &rows[1]["price_place"]), (&1.into(), &2.into()));
    assert_eq!((&rows[0]["run"], &result["jobs"]), (&slow.as_str().into(), &4.into()));
    let said = garland.run(&["farm", "compare", &slow, &fast]).with_code(0);
    assert!(said.out.contains("4 jobs; 100 % is ") && said.out.contains(" is the fastest"));
}

#[test]
fn what_can_not_be_compared_is_refused() {
    let scratch = Scratch::new("farm-unlike");
    list(&scratch, "jobs", "true\ntrue\n");
    let garland = garland_in(&scratch);
    let two = name(&run(&garland, &[]));
    list(&scratch, "jobs", "true\n");
    let one = name(&run(&garland, &[]));
    list(&scratch, "bad", "true\nfalse\n");
    let bad = garland.run(&["farm", "run", "bad", "--tries", "1", "--json"]).with_code(1).json();
    let bad = name(&bad);
    let refused: [(&[&str], &str); 5] = [
        (&["compare", &one, &two], "has 1 jobs, and"),
        (&["compare", &two, &bad], "is incomplete: 1 of 2 jobs are done"),
        (&["compare", "nothing"], "run nothing does not exist"),
        (&["compare", &one, "--price", "x=1"], "RUN=AMOUNT"),
        (&["run", "jobs", "--base", &bad], "has not done all of its jobs"),
    ];
    for (words, why) in refused {
        let said = garland.run(&[&["farm"], words].concat()).with_code(2);
        assert!(said.err.contains(why), "{words:?}: {}", said.err);
    }
    let said = garland.run(&["farm", "run", "jobs", "--unit", "300"]).with_code(2);
    assert!(said.err.contains("is not a unit of power"), "{}", said.err);
}

use super::*;

fn step(begin_ns: u64, end_ns: u64, cause: &'static str) -> Step {
    Step { begin_ns, end_ns, cause, node: Some("n1".to_owned()), to: None, within: None }
}

#[test]
fn a_long_path_has_no_hole_and_shows_what_took_most() {
    let steps: Vec<Step> = (0..10_000)
        .map(|at| match at % 2 {
            0 => step(at * 1000, at * 1000 + 900, "wire"),
            _ => step(at * 1000 - 100, at * 1000 + 1000, if at < 5_000 { "relay" } else { "seal" }),
        })
        .collect();
    let path = stretches(&steps, 0, 10_000_000);
    assert!(path.len() <= STRETCHES as usize);
    assert!(path.windows(2).all(|two| two[0].end_ns == two[1].begin_ns));
    let sum = |cause: &str| -> u64 {
        path.iter().filter(|one| one.cause == cause).map(|one| one.end_ns - one.begin_ns).sum()
    };
    assert!(sum("relay") > sum("wire") && sum("seal") > sum("wire"), "{path:?}");
}

#[test]
fn few_steps_stay_as_they_are() {
    let path =
        stretches(&[step(7, 500, "wire"), step(500, 900, "wire"), step(950, 990, "fsync")], 7, 990);
    let told: Vec<_> = path.iter().map(|one| (one.begin_ns, one.end_ns, one.cause)).collect();
    assert_eq!(told, [(0, 893, "wire"), (943, 983, "fsync")]);
}

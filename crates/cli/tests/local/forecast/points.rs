//! Forecasts from times that the user gives.

use garland_testkit::Scratch;

use crate::forecast::{at, garland, told};

/// Seconds of work of which a resource is busy for 10, when nodes keep out of each other's way.
fn turns(nodes: u32) -> f64 {
    (150.0 / f64::from(nodes)).max(10.0)
}

fn points(counts: &[u32]) -> String {
    let each = counts.iter().map(|&nodes| format!("{nodes}={}s", turns(nodes)));
    each.collect::<Vec<_>>().join(",")
}

#[test]
fn a_shared_resource_is_named_and_the_interval_holds_the_truth() {
    let scratch = Scratch::new("forecast-points");
    let given = points(&[1, 2, 4, 8]);
    let words = ["forecast", "--points", &given, "--limit", "hub=10s", "--nodes", "16,24"];
    let result = told(&scratch, &words);
    assert_eq!(result["schema"], "garland.forecast/2");
    assert_eq!(result["work"], "fixed");
    assert_eq!(result["forecast"]["knee"]["resource"], "hub");
    let knee = result["forecast"]["knee"]["nodes"].as_f64().unwrap();
    assert!((14.0..16.0).contains(&knee), "{knee}");
    for nodes in [16, 24] {
        let interval = &at(&result, nodes)["interval"];
        let low = interval[0].as_f64().unwrap();
        let high = interval[1].as_f64().unwrap();
        assert!(low <= turns(nodes) && turns(nodes) <= high, "{nodes}: {low} to {high}");
    }
    let text = garland(&scratch, &words).with_code(0).out;
    assert!(text.contains("knee    1") && text.contains("test    8 nodes predicted"), "{text}");
}

#[test]
fn the_hub_of_a_topology_is_as_busy_as_its_bytes_make_it() {
    let scratch = Scratch::new("forecast-hub");
    let given = "1=1450,2=745,4=390,8=235";
    let of = |rate: &str| {
        let words = ["forecast", "--points", given, "--topology", "hub", "--rate", rate];
        told(
            &scratch,
            &[&words[..], &["--bytes-in", "100MB", "--bytes-out", "20MB", "--jobs", "24"]].concat(),
        )
    };
    let slow = of("10mbit");
    // 120 MB at 91.5 % of 10 Mbit/s.
    let busy = slow["limits"][0]["seconds"].as_f64().unwrap();
    assert!((busy - 120e6 * 8.0 / (10e6 * 1448.0 / 1583.0)).abs() < 0.1, "{busy}");
    let knee = |told: &serde_json::Value| told["forecast"]["knee"]["nodes"].as_f64().unwrap();
    assert!(knee(&slow) < 15.0 && knee(&of("100mbit")) == 24.0, "{slow}");
}

#[test]
fn a_topology_of_one_size_is_simulated_up_to_its_nodes() {
    let scratch = Scratch::new("forecast-one-size");
    for name in ["p2p-joined", "routed-mesh"] {
        let words = ["forecast", "--points", "1=48,2=24.1,4=12.2", "--topology", name];
        let more =
            ["--bytes-in", "3MB", "--bytes-out", "600kB", "--jobs", "120", "--nodes", "3,15,16"];
        let result = told(&scratch, &[&words[..], &more].concat());
        let simulated = result["simulated"].as_array().unwrap();
        let nodes: Vec<_> = simulated.iter().map(|one| one["nodes"].as_u64().unwrap()).collect();
        assert!(nodes.starts_with(&[3, 15]), "{name}: {result}");
        // A mesh has no other size; joined stars have, if the second one has a node.
        assert_eq!(nodes.contains(&16), name == "p2p-joined", "{name}");
    }
}

#[test]
fn prices_make_a_cost_curve() {
    let scratch = Scratch::new("forecast-prices");
    let given = points(&[1, 2, 4, 8]);
    let words = ["forecast", "--points", &given, "--limit", "hub=10s", "--node-price", "100"];
    let result = told(&scratch, &words);
    assert_eq!(at(&result, 40)["cost"]["price"], 4000.0);
    let of = |nodes| at(&result, nodes)["cost"]["of_power"].as_f64().unwrap();
    assert!(of(60) > 2.0 * of(10), "power beyond the knee is dear");
    assert!(result["forecast"]["enough"].as_u64().unwrap() < 30);
}

#[test]
fn what_carries_nothing_is_refused_in_words() {
    let scratch = Scratch::new("forecast-refused");
    let refused = |words: &[&str], expected: &str| {
        let said = garland(&scratch, &[&["forecast"], words].concat()).with_code(2);
        assert!(said.out.is_empty() && said.err.contains(expected), "{expected}\n{}", said.err);
    };
    refused(&[], "there are no measured points");
    refused(&["--points", "4=10,4=11"], "says nothing about other node counts");
    refused(&["--points", "1=10,2=6"], "which fit any curve");
    refused(&["--points", "1=10,2=6,2=60,4=3"], "disturbed; repeat the runs at 2 nodes, or leave");
    refused(&["--points", "1=10,2=20,4=40"], "more nodes were slower");
    refused(&["--points", "1=100,2=50,4=2"], "no curve fits these points");
    refused(&["--points", "1=100,2=52,4=30", "--limit", "wire=50s"], "one of the two is wrong");
    refused(&["--points", "1=ten"], "is not a measured point");
    refused(&["--points", "1=10,2=-3,4=4"], "is not a measured point");
    refused(&["--points", "0=10,2=3,4=4"], "0 nodes in 10 s is not a valid point");
    refused(&["--points", "1=10,2=6,4=4", "--nodes", "0"], "is not a node count");
    refused(&["--points", "1=10,2=6,4=4", "--nodes", "1..99999"], "more than 10000");
    refused(&["--points", "1=10,2=6,4=4", "--limit", "wire"], "is not a limit");
    refused(&["--points", "1=10,2=6,4=4", "--node-price", "NaN"], "a price must be at least 0");
    refused(&["--copy", "1GiB", "--topology", "no-such"], "no-such");
    refused(&["no-such-run"], "run no-such-run does not exist");
}

#[test]
fn fewer_nodes_are_on_fewer_leaves() {
    let scratch = Scratch::new("forecast-leaves");
    let words = ["forecast", "--points", "1=48,2=48.5,3=49", "--copy", "1GiB", "--nodes", "2,16"];
    let more = ["--topology", "leaf-spine-100gbit"];
    let result = told(&scratch, &[&words[..], &more].concat());
    assert!(!result["simulated"].as_array().unwrap().is_empty(), "{result}");
}

//! What a report tells of a lab: the picture of what joined its nodes, and what each of their NICs
//! carried.

use std::fs;

use garland_testkit::{Browser, Scratch, random_file};
use serde_json::Value;

use crate::report::{embedded, garland_in, reported};

const TOPOLOGY: &str = "version = 1\nname = \"two-rails\"\n[topology]\nshape = \"rail\"\nnodes = 3\nrails = 2\n\
     rate = \"1gbit\"\n";

#[test]
fn a_lab_is_drawn_and_each_nic_has_its_lane() {
    let scratch = Scratch::new("report-wired");
    let garland = garland_in(&scratch);
    fs::write(scratch.path("rails.toml"), TOPOLOGY).unwrap();
    random_file(&scratch.path("file"), 32 << 20, 5);
    let _ = garland.run(&["lab", "up", "rails.toml"]).with_code(0);
    let copied = garland.run(&["cp", "-q", "--json", "file", "lab:n[1-2]:/file"]);
    let wires = garland.run(&["wires", "--json", "lab:n[1-2]"]);
    let _ = garland.run(&["lab", "down"]).with_code(0);
    let copied = copied.with_code(0).json();
    let wires = wires.json();
    let names = [copied["run"].as_str().unwrap(), wires["run"].as_str().unwrap()];
    let page = reported(&scratch, &garland, &names);
    let data = embedded(&fs::read_to_string(&page).unwrap());
    for run in data["runs"].as_array().unwrap() {
        let picture = &run["pictures"][0];
        assert_eq!((&picture["nodes"], &picture["nics"]), (&Value::from(4), &Value::from(8)));
        let svg = picture["svg"].as_str().unwrap();
        assert!(svg.contains(">n2</text>") && !svg.contains("<style"), "{svg}");
        assert_eq!(picture["joints"].as_array().unwrap().len(), 2);
    }
    let node = &data["runs"][0]["timeline"]["nodes"][1];
    assert_eq!(node["name"], "lab:n1");
    let sum =
        |bins: &Value| -> u64 { bins.as_array().unwrap().iter().filter_map(Value::as_u64).sum() };
    let whole = sum(&node["rates"]["received"]);
    assert!(whole >= 32 << 20, "{whole}");
    let nics = node["nics"].as_array().unwrap();
    let names: Vec<&str> = nics.iter().filter_map(|nic| nic["name"].as_str()).collect();
    assert_eq!(names, ["eth0", "eth1"]);
    let each: Vec<u64> = nics.iter().map(|nic| sum(&nic["received"])).collect();
    assert_eq!(each.iter().sum::<u64>(), whole);
    assert!(each.iter().all(|bytes| *bytes > 0), "{each:?}");
    // On the picture the copy has both ports of three nodes; the fourth and the measurement have
    // none.
    let mut browser = Browser::start(&scratch, 1000, 900);
    browser.open(&page);
    let drawn = browser.asked(
        "[...document.querySelectorAll('.topology .link')].map((one) => one.textContent.includes(' MB/s') && parseFloat(one.style.strokeWidth) > 3)",
    );
    assert_eq!(drawn, serde_json::json!([true, true, true, true, true, true]));
    browser.end(&scratch);
}

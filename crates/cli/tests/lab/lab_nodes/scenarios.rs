//! The meshes and bonds of 1996: they come up, and every node reaches every other one.

use garland_testkit::Scratch;

use crate::lab_nodes::stage::Stage;

#[test]
fn every_pair_reaches_each_other() {
    for name in [
        "bonded-dual-net",
        "routed-mesh",
        "routed-mesh-two-routes",
        "switched-mesh",
        "switched-mesh-two-routes",
    ] {
        let scratch = Scratch::new(name);
        let stage = Stage::new(&scratch, name);
        let status = stage.garland.run(&["lab", "status", "--json"]).with_code(0);
        let status: serde_json::Value = serde_json::from_str(&status.out).unwrap();
        let nodes = status["labs"][0]["nodes"].as_array().unwrap();
        let named = |key: &str| -> Vec<String> {
            nodes.iter().map(|node| node[key].as_str().unwrap().to_owned()).collect()
        };
        let names = named("name");
        let addresses = named("address");
        assert_eq!(names.len(), 16, "{name}");
        for node in &names {
            // Nobody listens there: a refusal has come all the way back.
            let call = |to: &String| format!(": < /dev/tcp/{to}/9\n");
            let script: String = addresses.iter().map(call).collect();
            let words = ["lab", "exec", node, "--", "timeout", "60", "bash", "-c", &script];
            let said = stage.garland.run(&words);
            for to in &addresses {
                let refusal = format!("/dev/tcp/{to}/9: Connection refused");
                assert!(said.err.contains(&refusal), "{name}, {node} to {to}: {}", said.err);
            }
        }
    }
}

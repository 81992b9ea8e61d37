//! Any text is a cluster file or an error with a line and a column.
#![no_main]

use garland_core::cluster::Cluster;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for text in [text.to_owned(), format!("version = 1\n{text}")] {
        match Cluster::parse(&text, "x.toml") {
            Ok(cluster) => {
                for node in &cluster.nodes {
                    assert_eq!(cluster.node(&node.name).map(|found| &found.name), Some(&node.name));
                }
            }
            Err(error) => assert!(error.line >= 1 && error.column >= 1),
        }
    }
});

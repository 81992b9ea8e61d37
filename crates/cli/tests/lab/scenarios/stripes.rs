//! A copy to one striped server, and whose its pauses are.

use garland_testkit::{Garland, Scratch};
use serde_json::Value;

use crate::scenarios::{only, predictions, run};

/// A tenth of the wire and of the operations of 2007, so that pauses weigh as much.
const STRIPES: &str = "\
version = 1
name = \"stripes\"
question = \"Does it run?\"
source = \"a test\"
[topology]
shape = \"switch\"
nodes = \"client,io1\"
rate = \"200mbit\"
[job]
kind = \"stripes\"
bytes = \"10.2MiB\"
buffer = \"128KiB\"
operation = \"1MiB\"
to = \"io1\"
makers = [\"source-disk\", \"sink-disk\", \"pause\", \"control\"]
pauses = [\"40ms\"]
[[job.suspects]]
maker = \"source-disk\"
pause = \"30ms\"
[[job.suspects]]
maker = \"sink-disk\"
pause = \"30ms\"
[emulation]
error = 0.01
reason = \"a test\"
[[published]]
transfer = \"1.8\"
copy = \"1.0\"
buffer_ms = \"4.5\"
between_ms = \"17 - 18\"
end_ms = \"11\"
";

#[test]
fn whoever_pauses_at_every_operation_is_named_as_far_as_traces_go() {
    let scratch = Scratch::new("scenario-stripes");
    let result = run(&scratch, STRIPES);
    assert_eq!(only(&result)["operations"], 11);
    let rows = only(&result)["rows"].as_array().unwrap();
    let shown = |row: &Value| (row["held"] == true, row["paused"] == true, row["equal"] == true);
    let rows: Vec<_> = rows.iter().map(shown).collect();
    let equal = true;
    let both = |paused| [(true, paused, equal), (false, paused, equal)];
    assert_eq!(rows, [both(false), both(true)].concat());
    let told = predictions(&result, 4);
    assert!(told[2][0] > told[3][0] + 0.3, "held to operations pauses add up: {told:?}");
    let answers = only(&result)["answers"].as_array().unwrap();
    let said: Vec<_> = answers
        .iter()
        .map(|answer| {
            let [whole, half] =
                ["whole", "half"].map(|side| answer[side]["cause"].as_str().unwrap());
            (answer["maker"].as_str().unwrap(), whole, half)
        })
        .collect();
    let alone = [
        ("source-disk", "source disk", "source disk"),
        ("sink-disk", "sink disk", "undecided"),
        ("pause", "pause", "pause"),
        ("control", "control round trips", "undecided"),
    ];
    assert_eq!(said, [&alone[..], &alone[..2]].concat());
    for answer in answers {
        let open = answer["half"]["undecided"].as_array().unwrap();
        assert!(open[0].as_str().unwrap().starts_with("lab:io1: it has no trace"), "{answer}");
        assert!(answer["whole"]["undecided"].as_array().unwrap().is_empty(), "{answer}");
    }
}

#[test]
fn operations_are_of_whole_buffers_to_a_server_that_is_there() {
    let scratch = Scratch::new("scenario-stripes-wrong");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    for (from, to, why) in [
        ("to = \"io1\"", "to = \"io2\"", "has no node io2"),
        ("to = \"io1\"", "to = \"client\"", "no wire with a rate from its head to client"),
        ("\"1MiB\"", "\"1000KiB\"", "must be a multiple of `buffer`"),
        ("\"128KiB\"", "\"1000B\"", "1000 bytes"),
        ("\"40ms\"", "\"40\"", "40"),
        (
            "[[published]]",
            "[[published]]\ntransfer = \"1\"\ncopy = \"1\"\nbuffer_ms = \"1\"\nbetween_ms = \"1\"\nend_ms = \"1\"\n[[published]]",
            "not 2",
        ),
    ] {
        assert!(STRIPES.contains(from), "{from}");
        let path = scratch.path("wrong.toml");
        std::fs::write(&path, STRIPES.replacen(from, to, 1)).expect("it can be written");
        let said = garland.run(&["scenario", "run", &path.display().to_string()]).with_code(2);
        assert!(said.err.contains(why), "{why}: {}", said.err);
    }
}

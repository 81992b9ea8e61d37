//! `garland top`: what nodes and Garland's agents there say of themselves, as lines and on a
//! terminal.

mod terminal;
mod work;

use garland_testkit::{Scratch, random_file};

use self::work::Work;
use crate::garland_in;

/// The lines about a node itself: its name and seven figures.
fn node_lines<'a>(out: &'a str, name: &str) -> Vec<(&'a str, Vec<f64>)> {
    let own = out.lines().filter(|line| line.split_whitespace().next() == Some(name));
    let figures = |line: &'a str| {
        let words = line.split_whitespace().skip(1).take(7);
        Some((line, words.map(|word| word.parse().ok()).collect::<Option<Vec<f64>>>()?))
    };
    own.filter_map(figures).collect()
}

/// The lines about a node's lanes or jobs.
fn lines<'a>(out: &'a str, name: &str, kind: &str) -> Vec<&'a str> {
    let is_one = |line: &&str| {
        let mut words = line.split_whitespace();
        words.next() == Some(name) && words.next() == Some(kind)
    };
    out.lines().filter(is_one).collect()
}

#[test]
fn every_node_has_a_line_for_every_look() {
    let scratch = Scratch::new("top-lines");
    let said = garland_in(&scratch).run(&["top", "local[1-2]", "-n", "2"]).with_code(0);
    assert_eq!(said.out.lines().count(), 4, "{}", said.out);
    for name in ["local1", "local2"] {
        let own = node_lines(&said.out, name);
        assert_eq!(own.len(), 2, "{}", said.out);
        for (line, told) in own {
            assert!(told.len() == 7 && told.iter().all(|one| *one >= 0.0), "{line}");
            assert!(told[5] <= 100.0 && told[6] <= 100.0, "{line}");
        }
    }
    scratch.assert_nothing_left();
}

/// The value of a metric of a node in the file for Prometheus.
fn metric(text: &str, name: &str, node: &str) -> Option<f64> {
    let begin = format!("{name}{{node=\"{node}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&begin))?.parse().ok()
}

#[test]
fn the_file_for_prometheus_has_the_figures_of_all_nodes() {
    let scratch = Scratch::new("top-metrics");
    let garland = garland_in(&scratch);
    let file = scratch.path("garland.prom");
    let path = file.to_str().expect("it is text");
    std::fs::write(scratch.path("copied"), [7; 4096]).expect("room for a file");
    let _ = garland.cp(&["copied", "local[1-3]:/copied"]).with_code(0);
    let said = garland.run(&["top", "local[1-2]", "-n", "2", "--metrics", path]).with_code(0);
    assert_eq!(said.out, "");
    let text = std::fs::read_to_string(&file).expect("it is written");
    for node in ["local1", "local2"] {
        assert_eq!(metric(&text, "garland_node_up", node), Some(1.0), "{text}");
        let busy = metric(&text, "garland_node_cpu_busy_ratio", node);
        assert!(busy.is_some_and(|busy| (0.0..=1.0).contains(&busy)), "{text}");
        let resent = metric(&text, "garland_node_resent_segments_total", node);
        assert!(resent.is_some_and(|count| count >= 0.0), "{text}");
        let nic = format!("\ngarland_node_received_bytes_total{{node=\"{node}\",nic=\"");
        assert!(text.contains(&nic), "{text}");
    }
    assert!(text.contains("\ngarland_last_copy_nodes{verdict=\"ok\"} 3\n"), "{text}");
    assert!(text.contains("\ngarland_last_copy_bytes 4096\n"), "{text}");
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let (series, value) = line.rsplit_once(' ').expect("a value follows");
        assert!(series.starts_with("garland_") && value.parse::<f64>().is_ok(), "{line}");
        let (name, _) = series.split_once('{').unwrap_or((series, ""));
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        assert!(text.contains(&format!("# TYPE {name} {kind}\n")), "{line}");
    }
    // Nothing else is left beside it.
    let beside = std::fs::read_dir(scratch.folder()).expect("the directory exists").flatten();
    let beside = beside.filter(|entry| entry.file_name().to_string_lossy().contains("prom"));
    assert_eq!(beside.count(), 1);
    scratch.assert_nothing_left();
}

#[test]
fn copies_and_jobs_of_other_commands_are_seen_each_on_its_node() {
    let scratch = Scratch::new("top-work");
    let garland = garland_in(&scratch);
    let work = Work::begin(&garland, &scratch);
    let roots = scratch.path("roots");
    let roots = roots.to_str().expect("it is text");
    let top = garland.start(&["top", "--local-root", roots, "local[1-3]"]);
    // Whoever feeds the pipe is what both wait for.
    let wanted = ["3.00 MiB so far", "waits for upstream", "/copied"];
    let is_lane = |line: &&str| wanted.iter().all(|part| line.contains(part));
    let is_told = |out: &str| {
        let busy = ["local1", "local2"].iter().all(|name| {
            let mut lanes = lines(out, name, "lane").into_iter();
            lanes.any(|lane| is_lane(&lane)) && !lines(out, name, "job").is_empty()
        });
        busy && node_lines(out, "local3").len() >= 2
    };
    let out = top.await_out("the copy and the jobs", is_told);
    // The third node has nothing of it, though it shares machine and user.
    let of_third = ["lane", "job"].map(|kind| lines(&out, "local3", kind).len());
    assert_eq!(of_third, [0, 0], "{out}");
    for job in [" job 1 ", " job 2 "] {
        let mut nodes: Vec<_> = out.lines().filter(|line| line.contains(job)).collect();
        assert!(nodes.iter().all(|line| line.contains("until [ -e ")), "{out}");
        nodes.iter_mut().for_each(|line| *line = line.split(' ').next().unwrap_or_default());
        nodes.dedup();
        assert_eq!(nodes.len(), 1, "{out}");
    }
    assert!(!out.contains("do not answer"), "{out}");
    top.process().interrupt();
    let _ = top.end().with_code(0);
    work.end();
    let said = garland.run(&["top", "--local-root", roots, "local[1-2]", "-n", "1"]).with_code(0);
    assert_eq!(said.out.lines().count(), 2, "{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn a_labs_nodes_show_what_a_copy_moves_and_that_its_wire_is_the_limit() {
    let scratch = Scratch::new("top-lab");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["lab", "up", "--nodes", "2", "--rate", "20mbit"]).with_code(0);
    random_file(&scratch.path("file"), 30 << 20, 7);
    let copy = garland.start(&["cp", "--no-fsync", "file", "lab:n[1-2]:/x"]);
    let top = garland.start(&["top", "lab:n[1-2]"]);
    // 20 Mbit/s are 2.5 MB/s, frames and all; n1 passes on what it gets. Bridges and the host's own
    // NICs aren't these nodes'.
    let most = |out: &str, name: &str, at: usize| {
        let own = node_lines(out, name).into_iter();
        own.map(|(_, told)| told[at]).fold(0.0, f64::max)
    };
    let moving = [("lab:n1", 0), ("lab:n1", 1), ("lab:n2", 0)];
    let is_told = |out: &str| {
        moving.iter().all(|(name, at)| most(out, name, *at) > 0.5)
            && ["lab:n1", "lab:n2"].iter().all(|name| {
                let mut lanes = lines(out, name, "lane").into_iter();
                lanes.any(|lane| lane.contains(" of 30.00 MiB") && lane.contains("for upstream"))
            })
    };
    let out = top.await_out("what the copy moves", is_told);
    for (name, at) in moving {
        assert!(most(&out, name, at) < 3.5, "{name} {at}\n{out}");
    }
    assert!(most(&out, "lab:n2", 1) < 0.5, "n2 is the last\n{out}");
    top.process().interrupt();
    let _ = top.end().with_code(0);
    drop(copy);
    let _ = garland.run(&["lab", "down"]).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn a_slow_disk_is_what_its_node_waits_for() {
    let scratch = Scratch::new("top-disk");
    let garland = garland_in(&scratch);
    let topology = "version = 1\n[topology]\nshape = \"switch\"\nnodes = 2\nrate = \"200mbit\"\n\
                    [[topology.node]]\nnames = \"n1\"\ndisk = \"2MB/s\"\n";
    std::fs::write(scratch.path("t.toml"), topology).expect("it can be written");
    let _ = garland.run(&["lab", "up", "t.toml"]).with_code(0);
    random_file(&scratch.path("file"), 60 << 20, 7);
    let copy = garland.start(&["cp", "--no-fsync", "file", "lab:n1:/x"]);
    let top = garland.start(&["top", "lab:n1"]);
    let is_told = |out: &str| {
        let mut lanes = lines(out, "lab:n1", "lane").into_iter();
        lanes.any(|lane| lane.contains("waits for own disk"))
    };
    let _ = top.await_out("the disk", is_told);
    top.process().interrupt();
    let _ = top.end().with_code(0);
    drop(copy);
    let _ = garland.run(&["lab", "down"]).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn what_cannot_be_is_said() {
    let scratch = Scratch::new("top-refused");
    let garland = garland_in(&scratch);
    let said = garland.run(&["top", "local1", "--json"]).with_code(2);
    assert!(said.err.contains("no result object"), "{}", said.err);
    let said = garland.run(&["top", "local1", "--interval", "0"]).with_code(2);
    assert!(said.err.contains("--interval"), "{}", said.err);
}

//! Printing, writing and comparing, and what is refused.

use garland_testkit::{Garland, RunOutput, Scratch};

use crate::net::shape::Shape;
use crate::net::stage::path_text;

fn garland(scratch: &Scratch, words: &[&str]) -> RunOutput {
    Garland::new(env!("CARGO_BIN_EXE_garland"), scratch).run(words)
}

fn star_file(scratch: &Scratch) -> String {
    Shape::new(
        "p2p",
        "shape = \"star\"
nodes = \"srv,n[2-3]\"",
    )
    .file(scratch)
}

#[test]
fn a_node_is_printed_and_all_are_written() {
    let scratch = Scratch::new("net-print");
    let topology = star_file(&scratch);
    let config = |more: &[&str]| {
        let words = ["net", "config", &topology, "--format", "ifupdown"];
        garland(&scratch, &[&words[..], more].concat())
    };
    let said = config(&["--node", "n2", "--map", "eth0=enp3s0"]).with_code(0);
    insta::assert_snapshot!(said.out);

    let folder = path_text(&scratch.path("out"));
    let _ = config(&["--all", "--output-dir", &folder, "--dry-run"]).with_code(0);
    assert!(!scratch.path("out").exists());
    let said = config(&["--all", "--output-dir", &folder]).with_code(0);
    assert_eq!(said.out.lines().count(), 2 * 3 + 4, "{}", said.out);
    let read = |path: &str| std::fs::read_to_string(scratch.path("out").join(path)).unwrap();
    assert!(read("srv/etc/network/interfaces.d/garland").contains("pointopoint 10.88.0.12"));
    assert_eq!(read("n3/etc/garland/nodes.map"), read("srv/etc/garland/nodes.map"));
    let said = config(&["--all"]).with_code(0);
    assert_eq!(said.out.matches("##### ").count(), 3);
}

#[test]
fn a_difference_is_shown_and_a_fault() {
    let scratch = Scratch::new("net-diff");
    let topology = star_file(&scratch);
    let root = path_text(&scratch.path("root"));
    let config = |format: &str, more: &[&str]| {
        let words =
            ["net", "config", &topology, "--node", "srv", "--root", &root, "--format", format];
        garland(&scratch, &[&words[..], more].concat())
    };
    let folder = scratch.path("root/etc/systemd/network");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(scratch.path("root/etc/hosts"), "127.0.0.1 localhost\n").unwrap();
    std::fs::write(folder.join("10-garland-eth9.network"), "[Match]\nName=eth9\n").unwrap();
    std::fs::write(folder.join("20-lan.network"), "[Match]\nName=lan\n").unwrap();
    let said = config("networkd", &["--diff"]).with_code(4);
    assert!(said.out.contains("+10.88.0.11 n2\n"), "{}", said.out);
    assert!(said.out.contains("-Name=eth9\n"), "{}", said.out);
    // A link of another root could lead anywhere.
    std::os::unix::fs::symlink("/nowhere", scratch.path("root/etc/NetworkManager")).unwrap();
    let said = config("networkmanager", &["--diff"]).with_code(2);
    assert!(
        said.err.contains("is a symbolic link, which could lead out of --root"),
        "{}",
        said.err
    );
}

#[test]
fn what_cannot_be_is_refused_with_a_hint() {
    let scratch = Scratch::new("net-refused");
    let topology = star_file(&scratch);
    let subflows = Shape::dual("subflow").file(&scratch);
    let said = |words: &[&str]| {
        let said = garland(&scratch, &[&["net", "config"], words].concat()).with_code(2);
        assert_eq!(said.out, "");
        said.err
    };
    let networkd = ["--format", "networkd", "--node"];
    let unknown = said(&[&[topology.as_str()], &networkd[..], &["n9"]].concat());
    assert_eq!(unknown, "error: p2p has no node n9\nhint: its nodes are n[2-3],srv\n");
    let nobody = said(&[&topology, "--format", "networkd"]);
    assert!(nobody.contains("hint: give --node NAME or --all"), "{nobody}");
    let format = said(&[&topology, "--format", "wicked"]);
    assert!(format.contains("ifupdown, networkd, networkmanager]"), "{format}");
    let bond = said(&[&[subflows.as_str()], &networkd[..], &["n1"]].concat());
    assert!(bond.contains("ifupdown does"), "{bond}");
    let map = said(&[&topology, "--format", "networkd", "--node", "n2", "--map", "eth0"]);
    assert!(map.contains("write NIC=NAME, such as eth0=enp3s0"), "{map}");
    let map = said(&[&topology, "--format", "networkd", "--node", "n2", "--map", "eth7=a"]);
    assert!(map.contains("n2 has no NIC eth7; it has eth0"), "{map}");
    let missing = said(&["/no/such/file", "--format", "networkd", "--node", "n2"]);
    assert!(missing.contains("cannot read the topology /no/such/file: no such file"), "{missing}");
}

#[test]
fn who_asks_for_an_installation_or_a_dropped_format_learns_what_to_do() {
    let scratch = Scratch::new("net-gone");
    let topology = star_file(&scratch);
    let said = |words: &[&str]| {
        let words = [&["net", "config", &topology, "--node", "n2"], words].concat();
        garland(&scratch, &words).with_code(2).err
    };
    let install = said(&["--format", "networkd", "--install"]);
    assert!(install.starts_with("error: cannot install the files: "), "{install}");
    assert!(install.contains("`--diff | patch -p1 -d /`"), "{install}");
    assert!(install.contains("`networkctl reload`"), "{install}");
    let netplan = said(&["--format", "netplan"]);
    assert!(netplan.contains("--format networkd or networkmanager"), "{netplan}");
    let script = said(&["--format", "iproute2"]);
    assert!(script.contains("--format ifupdown needs no daemon"), "{script}");
}

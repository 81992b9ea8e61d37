use proptest::prelude::*;

use crate::cluster::listen::{Listening, Ports};
use crate::cluster::{Cluster, Launcher};
use crate::units::Nanos;

const FULL: &str = r#"
version = 1
launcher = "slurm"
dead_after = "30s"

[cluster]
name = "den"

[[nodes]]
names = "n[01-04]"
address = "192.168.0.[1-4]"
rails = ["10.1.0.[1-4]", "10.2.0.[1-4]"]
rack = "r1"
port = 4100

[[nodes]]
names = "storage,n[06,05]"

[groups]
gpu = "n[01-02]"
fast = "@gpu,storage"
rest = "@all!@fast"

[ssh]
user = "admin"
options = ["-oPort=2222"]
binary = "/opt/garland"
sha256 = ["0000000000000000000000000000000000000000000000000000000000000a5f"]
fanout = 0x10
"#;

fn fault(text: &str) -> String {
    Cluster::parse(text, "cluster.toml").expect_err(text).to_string()
}

/// The errors of files that begin well.
fn faults(texts: &[&str]) -> String {
    let lines: Vec<String> =
        texts.iter().map(|text| fault(&format!("version = 1\n{text}"))).collect();
    lines.join("\n")
}

#[test]
fn reads_all_there_is() {
    let cluster = Cluster::parse(FULL, "x/cluster.toml").expect("a good file");
    assert_eq!((cluster.name.as_str(), cluster.launcher), ("den", Some(Launcher::Slurm)));
    assert_eq!(cluster.dead_after, Some(Nanos::from_secs(30)));
    let names: Vec<&str> = cluster.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["n01", "n02", "n03", "n04", "storage", "n06", "n05"]);
    let second = cluster.node("n02").expect("described");
    assert_eq!(
        (second.host.as_str(), second.rack.as_deref(), second.listening.port),
        ("192.168.0.2", Some("r1"), Ports::from_bounds(4100, 4100))
    );
    assert_eq!(second.addresses, ["10.1.0.2", "10.2.0.2"]);
    let storage = cluster.node("storage").expect("described");
    assert_eq!((storage.host.as_str(), &storage.rack), ("storage", &None));
    assert_eq!(storage.listening, Listening::default());
    assert_eq!(storage.addresses, ["storage"]);
    assert_eq!(cluster.groups["fast"], ["n01", "n02", "storage"]);
    assert_eq!(cluster.groups["rest"], ["n03", "n04", "n06", "n05"]);
    assert_eq!((cluster.ssh.user.as_deref(), cluster.ssh.fanout), (Some("admin"), 16));
    assert!(matches!(&*cluster.ssh.sha256, [one] if one.ends_with("0a5f")));
    assert_eq!(
        (cluster.rails(), cluster.ssh.options.as_slice()),
        (1, ["-oPort=2222".to_owned()].as_slice())
    );
}

#[test]
fn three_lines_describe_five_hundred_nodes() {
    let text = "version = 1\nlauncher = \"local\"\nnodes = \"n[001-500]\"\n";
    let cluster = Cluster::parse(text, "/etc/garland/den.toml").expect("a good file");
    assert_eq!(
        (cluster.name.as_str(), cluster.nodes.len(), cluster.nodes[499].host.as_str()),
        ("den", 500, "n500")
    );
}

#[test]
fn an_address_alone_is_login_and_rail() {
    let text = "version = 1\n[[nodes]]\nnames = \"a,b\"\naddress = \"10.0.0.[1-2]\"\n";
    let cluster = Cluster::parse(text, "c.toml").expect("a good file");
    assert_eq!(
        (cluster.nodes[1].host.as_str(), cluster.nodes[1].addresses[0].as_str()),
        ("10.0.0.2", "10.0.0.2")
    );
}

#[test]
fn agents_listen_where_their_section_or_that_of_all_says() {
    let text = "version = 1\n[agents]\nlisten = \"eth0\"\nport = \"4100-4199\"\nmax_life = \"24h\"\n\
                [[nodes]]\nnames = \"n[1-2]\"\nlisten = [\"10.1.0.[1-2]\", \"ib0\"]\n\
                [[nodes]]\nnames = \"n[3-4]\"\nport = 4200\n";
    let cluster = Cluster::parse(text, "c.toml").expect("a good file");
    assert_eq!(cluster.max_life, Some(Nanos::from_secs(86_400)));
    let of = |name: &str| {
        let Listening { listen, port } = &cluster.node(name).expect("described").listening;
        let listen: Vec<String> = listen.iter().map(ToString::to_string).collect();
        format!("{} {}", listen.join(","), port.map(|ports| ports.to_string()).unwrap_or_default())
    };
    assert_eq!(of("n2"), "10.1.0.2,ib0 4100-4199");
    assert_eq!(of("n3"), "eth0 4200");
    let lines = faults(&[
        "nodes = \"n1\"\n[agents]\nlisten = \"10.1.0\"",
        "nodes = \"n1\"\n[agents]\nport = \"9-1\"",
        "nodes = \"n1\"\n[agents]\nport = 70000",
        "nodes = \"n1\"\n[agents]\nmax_life = \"0s\"",
        "[[nodes]]\nnames = \"n[1-3]\"\nlisten = \"10.1.0.[1-2]\"",
    ]);
    insta::assert_snapshot!(lines, @r#"
    cluster.toml:4:10: `listen`: "10.1.0" is neither an address nor the name of a NIC: write 10.1.0.3 or eth0
    cluster.toml:4:8: `port`: "9-1" is no TCP port and no range: write 4100 or 4100-4199
    cluster.toml:4:8: `port` must be a whole number from 1 to 65535, not 70000
    cluster.toml:4:12: `max_life`: the minimum is 1s
    cluster.toml:4:10: `listen` lists 2 addresses, but `names` lists 3 nodes: give one address for each node
    "#);
}

#[test]
fn survives_json() {
    let cluster = Cluster::parse(FULL, "cluster.toml").expect("a good file");
    let json = serde_json::to_string(&cluster).expect("plain values");
    assert_eq!(serde_json::from_str::<Cluster>(&json).expect("our own JSON"), cluster);
}

#[test]
fn versions_and_syntax_are_told_first() {
    let files = [
        "",
        "nodes = \"n1\"",
        "version = 2\nnoodles = 1",
        "version = \"1\"",
        "version = 1.0",
        "version = ",
        "version = 1\nnodes = \"n1",
        "a = 1\na = 2",
        "version = 1\r\n\t[x",
    ];
    let lines: Vec<String> = files.iter().map(|text| fault(text)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    cluster.toml:1:1: `version` is missing: a cluster file must begin with `version = 1`
    cluster.toml:1:1: `version` is missing: a cluster file must begin with `version = 1`
    cluster.toml:1:11: version 2 of the cluster file is not supported: this garland reads version 1
    cluster.toml:1:11: `version` must be the number 1, not a text
    cluster.toml:1:11: `version` must be the number 1, not 1.0
    cluster.toml:1:11: not valid TOML: string values must be quoted, expected literal string
    cluster.toml:2:12: not valid TOML: invalid basic string, expected `"`
    cluster.toml:2:1: not valid TOML: duplicate key
    cluster.toml:2:4: not valid TOML: unclosed table, expected `]`
    "#);
}

#[test]
fn unknown_keys_get_a_hint() {
    let lines = faults(&[
        "node = \"n1\"",
        "nodes = \"n1\"\ncolour = \"red\"",
        "[[nodes]]\nname = \"n1\"",
        "[[nodes]]\nnames = \"n1\"\nadress = \"x\"",
        "nodes = \"n1\"\n[ssh]\nfan-out = 3",
        "nodes = \"n1\"\n[cluster]\ntitle = \"x\"",
        "nodes = \"n1\"\ndead_after = \"1s\"",
        "nodes = \"n1\"\nlauncher = \"slrum\"",
        "nodes = \"n1\"\nlauncher = \"pdsh\"",
    ]);
    insta::assert_snapshot!(lines, @r#"
    cluster.toml:2:1: unknown key `node` in the cluster file (did you mean nodes?); allowed: version, launcher, dead_after, cluster, agents, nodes, groups, ssh
    cluster.toml:3:1: unknown key `colour` in the cluster file; allowed: version, launcher, dead_after, cluster, agents, nodes, groups, ssh
    cluster.toml:3:1: unknown key `name` in [[nodes]] (did you mean names?); allowed: names, address, rails, rack, listen, port
    cluster.toml:4:1: unknown key `adress` in [[nodes]] (did you mean address?); allowed: names, address, rails, rack, listen, port
    cluster.toml:4:1: unknown key `fan-out` in [ssh] (did you mean fanout?); allowed: user, options, binary, sha256, fanout
    cluster.toml:4:1: unknown key `title` in [cluster]; allowed: name
    cluster.toml:3:14: `dead_after`: the minimum is 2s
    cluster.toml:3:12: `launcher` cannot be "slrum" (did you mean slurm?); allowed: ssh, slurm, local
    cluster.toml:3:12: `launcher` cannot be "pdsh"; allowed: ssh, slurm, local
    "#);
}

#[test]
fn a_file_without_nodes_says_how_all_are_reached() {
    let cluster =
        Cluster::parse("version = 1\n[ssh]\nuser = \"bob\"\n", "c").expect("it is complete");
    assert_eq!((cluster.nodes.len(), cluster.ssh.user.as_deref()), (0, Some("bob")));
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    let lines = faults(&[
        "nodes = []",
        "nodes = [\"n1\"]",
        "nodes = 3",
        "nodes = \"\"",
        "[nodes]\nnames = \"n1\"",
        "[[nodes]]\nrack = \"r1\"",
        "[[nodes]]\nnames = \"n1\"\nrack = 1",
        "[[nodes]]\nnames = \"n1\"\nrails = \"x\"",
        "[[nodes]]\nnames = \"n1\"\nrails = [1979-05-27]",
        "[[nodes]]\nnames = \"n1\"\nport = 0",
        "[[nodes]]\nnames = \"n1\"\nport = 65536",
        "[[nodes]]\nnames = \"n1\"\nport = true",
        "nodes = \"n1\"\nssh = \"x\"",
        "nodes = \"n1\"\n[ssh]\nfanout = -1",
        "nodes = \"n1\"\n[ssh]\nfanout = 1.5",
        "nodes = \"n1\"\n[ssh]\nuser = \"-oProxyCommand=x\"",
        "nodes = \"n1\"\n[ssh]\nuser = \" \"",
    ]);
    insta::assert_snapshot!(lines, @r#"
    cluster.toml:2:9: `nodes` must be a node list such as "n[01-20]", or sections `[[nodes]]` in double brackets, not an array
    cluster.toml:2:10: `nodes` must be a node list such as "n[01-20]", or sections `[[nodes]]` in double brackets, not a text
    cluster.toml:2:9: `nodes` must be a node list such as "n[01-20]", or sections `[[nodes]]` in double brackets, not 3
    cluster.toml:2:9: `nodes` is empty: it needs a value
    cluster.toml:2:1: `nodes` must be a node list such as "n[01-20]", or sections `[[nodes]]` in double brackets, not a section
    cluster.toml:2:1: [[nodes]] needs `names`: write `names = "n[01-20]"`
    cluster.toml:4:8: `rack` must be a text in quotes, not 1
    cluster.toml:4:9: `rails` must be an array of texts, not a text
    cluster.toml:4:10: `rails[0]` must be a text in quotes, not a date
    cluster.toml:4:8: `port` must be a whole number from 1 to 65535, not 0
    cluster.toml:4:8: `port` must be a whole number from 1 to 65535, not 65536
    cluster.toml:4:8: `port` must be a whole number from 1 to 65535, not true or false
    cluster.toml:3:7: `ssh` must be a section `[ssh]`, not a text
    cluster.toml:4:10: `fanout` must be a whole number from 1 to 10000, not -1
    cluster.toml:4:10: `fanout` must be a whole number from 1 to 10000, not 1.5
    cluster.toml:4:8: `user` cannot be "-oProxyCommand=x": it must not begin with `-` or contain blanks or control characters
    cluster.toml:4:8: `user` is empty: it needs a value
    "#);
}

#[test]
fn a_digest_has_64_lower_case_hexadecimal_digits() {
    let lines = faults(&["nodes = \"n1\"\n[ssh]\nsha256 = [\"00FF\"]"]);
    insta::assert_snapshot!(lines, @r#"cluster.toml:4:11: `sha256` must be 64 digits of 0-9 and a-f, as printed by sha256sum, not "00FF""#);
}

#[test]
fn faults_of_node_lists_point_into_them() {
    let lines = faults(&[
        "nodes = \"n[01-20],n[9-1]\"",
        "nodes = 'n[01-20],n[07'",
        "nodes = \"\"\"\nn1\nn2 n[3-\"\"\"",
        "nodes = \"n1\\u002cn[\"",
        "nodes = \"^hosts\"",
        "nodes = \"@gpu\"",
        "nodes = \"größe\"",
        "nodes = \"n[1-2]\"\n[groups]\ngpu = \"n1,@fast\"",
        "nodes = \"n[1-2]\"\n[groups]\na = \"n1,@b\"\nb = \"n2,@a\"",
        "nodes = \"n[1-2]\"\n[groups]\na = \"@slurm\"",
    ]);
    insta::assert_snapshot!(lines, @r#"
    cluster.toml:2:21: `nodes`: the range 9-1 is reversed: write 1-9
    cluster.toml:2:20: `nodes`: `]` is missing after this `[`
    cluster.toml:4:5: `nodes`: `]` is missing after this `[`
    cluster.toml:2:9: `nodes`: `]` is missing after this `[`
    cluster.toml:2:10: `nodes`: cannot read ^hosts: a cluster file must list its nodes itself
    cluster.toml:2:10: `nodes`: cannot read @gpu: groups can contain nodes, but `nodes` cannot contain groups
    cluster.toml:2:12: `nodes`: 'ö' is not allowed in node names: use only letters, digits and . - _ : @ %
    cluster.toml:4:11: `gpu`: no group is named fast
    cluster.toml:4:5: `a`: @a `n1,@b`, column 4: this group or file contains itself: @b -> @a -> @b
    cluster.toml:4:6: `a`: cannot read @slurm: groups of a cluster file can only contain nodes and groups of that file
    "#);
}

#[test]
fn nodes_addresses_and_groups_must_fit_together() {
    let many = format!("[[nodes]]\nnames = \"n1\"\nrails = [{}]", "\"x\",".repeat(65));
    let lines = faults(&[
        "[[nodes]]\nnames = \"n[1-3]\"\n[[nodes]]\nnames = \"n[3-5]\"",
        "[[nodes]]\nnames = \"n[1-3]\"\naddress = \"10.0.0.[1-4]\"",
        "[[nodes]]\nnames = \"n[1-3]\"\nrails = [\"10.0.0.[1-3]\", \"10.1.0.[1-2]\"]",
        "[[nodes]]\nnames = \"n1\"\naddress = \"root@10.0.0.1\"",
        "[[nodes]]\nnames = \"n1\"\naddress = \"10.0.0.1\"\n[[nodes]]\nnames = \"n2\"\naddress = \"10.0.0.1\"",
        "[[nodes]]\nnames = \"n1\"\nrails = [\"x\", \"x\"]",
        &many,
        "nodes = \"n[01-20]\"\n[groups]\ngpu = \"n[19-21]\"",
        "nodes = \"n1\"\n[groups]\n\"a b\" = \"n1\"",
        "nodes = \"n1\"\n[groups]\nall = \"n1\"",
        "nodes = \"n1\"\n[groups]\na = 1",
        "[[nodes]]\nnames = \"b[1-2]\"\n[[nodes]]\nnames = \"a[1-999999]\"",
    ]);
    insta::assert_snapshot!(lines, @r#"
    cluster.toml:5:9: node n3 is described twice; the first description is on line 3
    cluster.toml:4:11: `address` lists 4 addresses, but `names` lists 3 nodes: give one address for each node
    cluster.toml:4:26: `rails[1]` lists 2 addresses, but `names` lists 3 nodes: give one address for each node
    cluster.toml:4:11: `address` must not contain user names: remove `root@` and write `user = "root"` below `[ssh]`
    cluster.toml:7:11: address 10.0.0.1 of n2 is already used by n1: every node and rail needs its own
    cluster.toml:4:10: address x of n1 is already used by n1: every node and rail needs its own
    cluster.toml:4:266: a node has 65 rails: the maximum is 64
    cluster.toml:4:7: group gpu contains n21, which is not a node of this file (did you mean n20?)
    cluster.toml:4:1: "a b" cannot be the name of a group: use only letters, digits and . _ -
    cluster.toml:4:1: `@all` is built in: choose another name for the group
    cluster.toml:4:5: `a` must be a text in quotes, not 1
    cluster.toml:5:9: the file has more than 1000000 nodes
    "#);
}

#[test]
fn nodes_may_share_an_address_on_different_ports() {
    let text = "version = 1\n[[nodes]]\nnames = \"a\"\naddress = \"::1x\"\n";
    assert!(fault(text).contains("4:12"), "{}", fault(text));
    let text = "version = 1\n\
        [[nodes]]\nnames = \"a\"\naddress = \"127.0.0.1\"\nport = 4100\n\
        [[nodes]]\nnames = \"b\"\naddress = \"127.0.0.1\"\nport = 4101\n";
    assert_eq!(Cluster::parse(text, "c.toml").expect("two agents on one host").nodes.len(), 2);
}

#[test]
fn what_the_book_shows_can_be_read() {
    let book = include_str!("../../../../../docs/formats.md");
    let example = book.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let cluster = Cluster::parse(example.expect("it has one"), "cluster.toml").expect("it is one");
    assert_eq!(cluster.nodes[19].addresses, ["10.1.0.20", "10.2.0.20"]);
    assert_eq!(cluster.groups["fast"].len(), 9);
    assert_eq!(cluster.ssh.fanout, 128);
}

proptest! {
    #[test]
    fn any_text_gives_a_cluster_or_an_error(text in ".*", tail in r#"([\[\]"'=\n ,.{}#a-z0-9@^!-]|nodes|names|groups|rails|\[\[nodes\]\]\n){0,60}"#) {
        for text in [text, format!("version = 1\n{tail}"), format!("version = 1\nnodes = \"n[1-3]\"\n{tail}")] {
            if let Err(error) = Cluster::parse(&text, "x.toml") {
                prop_assert!(error.line >= 1 && error.column >= 1);
            }
        }
    }

    #[test]
    fn a_file_cut_anywhere_gives_a_cluster_or_an_error(cut in 0..FULL.len()) {
        let _ = Cluster::parse(&FULL[..cut], "x.toml");
    }
}

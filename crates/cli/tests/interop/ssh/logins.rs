//! Logging in: what is found there, what is refused, and what is left.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;

use garland_testkit::said;

use crate::ssh::{
    assert_nothing_left, assert_whole, cached, field_of, garland, half_binaries, read, run,
    wait_for,
};

#[test]
fn four_nodes_get_the_file_and_keep_the_binary() {
    let field = field_of(4);
    // The user's own logins run something else.
    field.machines.shell(0, "echo RemoteCommand echo never >>/mnt/ssh/config").expect("written");
    let first = run(&field, &["cp", "/mnt/head/source", "n[1-4]:/mnt/home/copy"]);
    assert!(first.status.success(), "{}", said(&first));
    let mut binaries = Vec::new();
    for node in 1..=4 {
        assert_whole(&field, node, "/mnt/home/copy");
        let kept = cached(&field, node);
        assert_eq!(kept.len(), 1, "{kept:?}");
        let file = fs::metadata(&kept[0]).expect("it was listed");
        let folder = fs::metadata(kept[0].parent().expect("a folder")).expect("there");
        assert_eq!((file.mode() & 0o777, folder.mode() & 0o777), (0o700, 0o700));
        binaries.push((file.ino(), file.mtime_nsec()));
    }
    assert_nothing_left(&field);
    let second = run(&field, &["cp", "/mnt/head/source", "n[1-4]:/mnt/home/again"]);
    assert!(second.status.success(), "{}", said(&second));
    for node in 1..=4 {
        assert_whole(&field, node, "/mnt/home/again");
        let copy = fs::metadata(field.machines.seen(node, "/mnt/home/again")).expect("there");
        assert_eq!(copy.mode() & 0o777, 0o644, "the launcher's umask isn't the file's");
        let file = fs::metadata(&cached(&field, node)[0]).expect("still there");
        assert_eq!((file.ino(), file.mtime_nsec()), binaries[usize::from(node) - 1]);
    }
    assert_nothing_left(&field);
}

#[test]
fn a_node_that_fails_at_launch_is_named_and_the_others_finish() {
    let field = field_of(3);
    // n4 is in the cluster file, and isn't there: nobody answers for its address.
    field
        .machines
        .shell(0, "ip addr add 10.99.0.4/32 dev lo; echo 10.99.0.4 n4 >>/mnt/hosts")
        .expect("set");
    let output = run(&field, &["cp", "/mnt/head/source", "n[1-4]:/mnt/home/copy"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("failed  n4: ssh: the connection is refused"), "{text}");
    for node in 1..=3 {
        assert_whole(&field, node, "/mnt/home/copy");
    }
    assert_nothing_left(&field);
}

#[test]
fn refusals_say_why_and_what_helps() {
    let field = field_of(2);
    let copy = ["cp", "/mnt/head/source", "n[1-2]:/mnt/home/copy"];
    field.cluster_file("\"-oUserKnownHostsFile=/dev/null\"").expect("written");
    let output = run(&field, &copy);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(
        said(&output).contains("failed  n[1-2]: ssh: its host key is not known; check"),
        "{}",
        said(&output)
    );

    field.cluster_file("\"-oUserKnownHostsFile=/mnt/ssh/wrong\"").expect("written");
    let wrong = "for n in 1 2; do echo n$n,10.99.0.$n $(cut -d ' ' -f 1-2 /mnt/ssh/stranger.pub); done >/mnt/ssh/wrong";
    field.machines.shell(0, wrong).expect("written");
    let output = run(&field, &copy);
    assert!(
        said(&output).contains("failed  n[1-2]: ssh: its host key differs from the known one"),
        "{}",
        said(&output)
    );

    field.cluster_file("\"-i\", \"/mnt/ssh/stranger\", \"-oIdentitiesOnly=yes\", \"-F\", \"/dev/null\", \"-oUserKnownHostsFile=/mnt/ssh/known\"").expect("written");
    let output = run(&field, &copy);
    let text = said(&output);
    assert!(text.contains("failed  n[1-2]: ssh: the login is refused (publickey"), "{text}");
    let copies = "ssh-copy-id -F /mnt/ssh/config -i /mnt/ssh/stranger -oIdentitiesOnly=yes -F /dev/null \
                  -oUserKnownHostsFile=/mnt/ssh/known n1";
    assert!(text.contains(copies), "{text}");
    for node in 1..=2 {
        assert_eq!(read(&field, node, "/mnt/home/copy"), None);
        assert!(cached(&field, node).is_empty());
    }
    assert_nothing_left(&field);
}

#[test]
fn hints_about_host_keys_work_when_they_are_pasted() {
    let field = field_of(1);
    field.cluster_file("\"-oUserKnownHostsFile=/mnt/ssh/own\", \"-p\", \"22\"").expect("written");
    let copy = ["cp", "/mnt/head/source", "n1:/mnt/home/copy"];
    let copy_with_hint = |before: &str, behind: &str| {
        let output = run(&field, &copy);
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        let text = said(&output);
        let hint = text.split_once(before).unwrap_or_else(|| panic!("{text}")).1;
        let hint = hint.split(behind).next().expect("a first part");
        field.machines.shell(0, hint).unwrap_or_else(|error| panic!("{hint}: {error}"));
        hint.to_owned()
    };
    let hint = copy_with_hint("or unchecked: ", "\n");
    assert!(hint.ends_with(" -p 22 n1 true"), "{hint}");
    let output = run(&field, &copy);
    assert!(output.status.success(), "{}", said(&output));
    // Then the node is installed anew.
    let wrong = "echo n1,10.99.0.1 $(cut -d ' ' -f 1-2 /mnt/ssh/stranger.pub) >/mnt/ssh/own";
    field.machines.shell(0, wrong).expect("written");
    let hint = copy_with_hint("if the node was reinstalled: ", ", then ");
    assert_eq!(hint, "ssh-keygen -f /mnt/ssh/own -R n1");
    let _ = copy_with_hint("or unchecked: ", "\n");
    let output = run(&field, &copy);
    assert!(output.status.success(), "{}", said(&output));
    assert_whole(&field, 1, "/mnt/home/copy");
    assert_nothing_left(&field);
}

#[test]
fn a_home_that_runs_nothing_has_a_substitute() {
    let field = field_of(1);
    field.machines.shell(1, "mount -o remount,bind,noexec /mnt/home").expect("remounted");
    let output = run(&field, &["cp", "/mnt/head/source", "n1:/mnt/home/copy"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_whole(&field, 1, "/mnt/home/copy");
    assert!(cached(&field, 1).is_empty(), "{:?}", cached(&field, 1));
    let shared = field.machines.seen(1, "/dev/shm/garland-root");
    assert_eq!(fs::metadata(shared).expect("made").mode() & 0o777, 0o700);
    field.machines.shell(1, "rm -rf /dev/shm/garland-root; mount -o remount,noexec /dev/shm; mount -o remount,noexec /tmp").expect("remounted");
    let output = run(&field, &["cp", "/mnt/head/source", "n1:/mnt/home/again"]);
    let text = said(&output);
    assert!(
        text.contains("cannot install garland on the node: /mnt/home/.cache/garland/n1-"),
        "{text}"
    );
    assert!(text.contains("Permission denied"), "{text}");
    let hint = "under [ssh] in the cluster file /mnt/head/cluster.toml: binary = \"/opt/garland\"";
    assert!(text.contains(hint), "{text}");
}

#[test]
fn the_binary_may_have_a_place_of_the_users_choice() {
    let field = field_of(1);
    let cluster = field.machines.seen(0, "/mnt/head/cluster.toml");
    let text = fs::read_to_string(&cluster).expect("it was written");
    fs::write(&cluster, format!("{text}binary = \"~/my tools/garland\"\n")).expect("written");
    for _ in 0..2 {
        let output = run(&field, &["cp", "/mnt/head/source", "n1:/mnt/home/copy"]);
        assert!(output.status.success(), "{}", said(&output));
    }
    assert!(read(&field, 1, "/mnt/home/my tools/garland").is_some());
    assert!(cached(&field, 1).is_empty());
    // What stands there and isn't garland is told, not replaced.
    field
        .machines
        .shell(1, "printf '#!/bin/sh\\nexit 7\\n' >'/mnt/home/my tools/garland'")
        .expect("written");
    let output = run(&field, &["cp", "/mnt/head/source", "n1:/mnt/home/copy"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("my tools/garland: it is another program, with the SHA-256"), "{text}");
    assert!(text.contains("add its digest to `sha256` under [ssh]"), "{text}");
}

#[test]
fn a_kept_binary_that_was_changed_is_replaced_and_does_not_run() {
    let field = field_of(1);
    let copy = |to: &str| {
        let output = run(&field, &["cp", "/mnt/head/source", to]);
        assert!(output.status.success(), "{}", said(&output));
    };
    copy("n1:/mnt/home/copy");
    let kept = cached(&field, 1).pop().expect("n1 has it");
    let evil = "#!/bin/sh\n>/mnt/home/ran\nexec sleep 9\n";
    fs::write(&kept, evil).expect("nobody runs it");
    copy("n1:/mnt/home/again");
    assert_whole(&field, 1, "/mnt/home/again");
    assert_eq!(read(&field, 1, "/mnt/home/ran"), None, "what wasn't checked ran");
    assert!(fs::read(&kept).expect("the file exists") != evil.as_bytes(), "it is replaced");
    // Commands don't get what the launcher opened, and the agent is called what it is.
    let sight = "echo $(ls /proc/self/fd | wc -l) $(cat /proc/$PPID/comm)";
    let output = run(&field, &["exec", "n1", "--", "sh", "-c", sight]);
    assert!(said(&output).contains("4 garland"), "{}", said(&output));
    assert_nothing_left(&field);
}

#[test]
fn a_killed_ssh_leaves_neither_agents_nor_halves() {
    let field = field_of(2);
    // Slow enough for the binary to be met on its way.
    field
        .machines
        .shell(0, "tc qdisc add dev v1 root tbf rate 20mbit burst 20000 limit 200000")
        .expect("tc");
    let mut first = garland(&field, &["cp", "/mnt/head/source", "n[1-2]:/mnt/home/copy"]);
    let first =
        first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("garland starts");
    wait_for(|| !half_binaries(&field, 1).is_empty());
    field.machines.shell(0, "kill -9 $(pgrep -f '^ssh .* -- n1 ')").expect("it runs");
    let output = first.wait_with_output().expect("it ends");
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("failed  n1: ssh: signal: 9"), "{text}");
    assert_whole(&field, 2, "/mnt/home/copy");
    wait_for(|| cached(&field, 1).is_empty());
    assert_nothing_left(&field);
}

#[test]
fn what_a_node_prints_after_its_agent_is_ready_is_printed_for_copies_to_its_output_only() {
    let field = field_of(2);
    // n1's login has words of its own after those of the agent.
    let script = "#!/bin/sh\ncase $SSH_CONNECTION in *' 10.99.0.1 '*) ;; \
                  *) exec sh -c \"$SSH_ORIGINAL_COMMAND\";; esac\n\
                  sh -c \"$SSH_ORIGINAL_COMMAND\" | sed -u '/^garland-agent /a forged'\n";
    fs::write(field.machines.seen(0, "/mnt/ssh/loud"), script).expect("a script");
    let force = "cd /mnt/ssh; chmod +x loud; sed -i 's,^,command=\"/mnt/ssh/loud\" ,' user.pub";
    field.machines.shell(0, force).expect("it is forced");
    let copy = run(&field, &["cp", "/mnt/head/source", "n[1-2]:/mnt/home/copy"]);
    assert!(copy.status.success() && !said(&copy).contains("forged"), "{}", said(&copy));
    let copy = run(&field, &["cp", "n2:/mnt/home/copy", "-"]);
    assert_eq!(copy.stdout.len(), 3_000_001, "{}", String::from_utf8_lossy(&copy.stderr));
    let exec = run(&field, &["exec", "n[1-2]", "--", "echo", "here"]);
    let text = said(&exec);
    assert!(exec.status.success() && text.matches("here").count() == 2, "{text}");
    assert!(!text.contains("forged"), "{text}");
    fs::write(field.machines.seen(0, "/mnt/head/short"), "bytes\n").expect("a source");
    let copy = run(&field, &["cp", "/mnt/head/short", "n1:-"]);
    assert_eq!(String::from_utf8_lossy(&copy.stdout), "forged\nbytes\n");
    assert_nothing_left(&field);
}

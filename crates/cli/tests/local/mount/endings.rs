//! How mounts end, and what they tell while they last.

use std::fs::{self, File};
use std::process::Command;

use garland_sys::process::end_with_parent;
use garland_testkit::{Scratch, until};

use crate::mount::stage::{Stage, shell};

#[test]
fn a_killed_mount_is_replaced_at_once() {
    let scratch = Scratch::new("mount-again");
    let mut stage = Stage::new(&scratch, 1);
    fs::write(stage.path("local1/x"), "x").unwrap();
    stage.server().process().kill();
    until("the mount's death", || fs::read_dir(stage.path("")).is_err());
    let status = stage.garland.run(&["mount", "--status", "--json"]).with_code(1).json();
    assert_eq!(status["mounts"][0]["state"], "dead", "{status}");
    let again = stage.garland.run(&["mount", "m", "local1"]).with_code(0);
    assert_eq!((again.out.as_str(), again.err.as_str()), ("", ""));
    assert_eq!(fs::read_to_string(stage.path("local1/x")).unwrap(), "x");
    let _ = stage.garland.run(&["mount", "-u", "m"]).with_code(0);
    // What is left on the folder of a killed mount is taken away as well.
    let mut second = stage.mount("m", &[]);
    second.process().kill();
    until("the mount's death", || !second.is_running());
    let _ = stage.garland.run(&["mount", "-u", "m"]).with_code(0);
    assert!(fs::read_dir(stage.path("")).unwrap().next().is_none(), "the folder itself");
    drop(second);
    let served = stage.mount("m", &[]);
    drop(std::mem::replace(stage.server(), served));
    stage.end();
}

#[test]
fn ctrl_c_unmounts_also_what_is_in_use() {
    let scratch = Scratch::new("mount-busy");
    let stage = Stage::new(&scratch, 1);
    let other = stage.mount("o", &["--no-encrypt"]);
    fs::write(scratch.path("o/local1/x"), "x").unwrap();
    let held = File::open(scratch.path("o/local1/x")).unwrap();
    other.process().interrupt();
    let said = other.end().with_code(0);
    assert!(said.err.contains("was in use"), "{}", said.err);
    assert!(fs::read_dir(scratch.path("o")).unwrap().next().is_none(), "it is unmounted");
    drop(held);
    let idle = stage.mount("o", &[]);
    idle.process().interrupt();
    let said = idle.end().with_code(0);
    assert_eq!(said.err, "");
    let busy = stage.mount("o", &[]);
    let held = File::open(scratch.path("o/local1")).unwrap();
    let said = stage.garland.run(&["mount", "--unmount", "o"]).with_code(0);
    assert!(said.err.contains("it will be unmounted when no process uses it"), "{}", said.err);
    drop(held);
    let _ = busy.end().with_code(0);
    stage.end();
}

#[test]
fn what_is_unmounted_is_over_though_another_mount_namespace_has_a_copy_of_it() {
    let scratch = Scratch::new("mount-copied");
    let stage = Stage::new(&scratch, 1);
    let other = stage.mount("o", &[]);
    fs::write(scratch.path("o/local1/x"), "x").unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sleep", "600"]);
    end_with_parent(&mut command);
    let mut holder = command.spawn().expect("unshare can be started");
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    until("a namespace of its own", || {
        namespace(&holder.id().to_string()).is_some_and(|own| Some(own) != namespace("self"))
    });
    let said = stage.garland.run(&["mount", "--unmount", "o"]).with_code(0);
    assert_eq!(said.err, "");
    let said = other.end().with_code(0);
    assert_eq!(said.err, "");
    let status = stage.garland.run(&["mount", "--status", "--json"]).with_code(0).json();
    assert_eq!(status["mounts"].as_array().map(Vec::len), Some(1), "{status}");
    holder.kill().expect("it can be killed");
    let _ = holder.wait().expect("it ends");
    stage.end();
}

#[test]
fn a_mount_tells_of_itself_and_goes_with_any_umount() {
    let scratch = Scratch::new("mount-status");
    let stage = Stage::new(&scratch, 1);
    let _ = stage.garland.run(&["mount", "m2", "local1"]).with_code(3);
    fs::create_dir(scratch.path("m2")).unwrap();
    let _ = stage.garland.run(&["mount", "m2", "local1"]).with_code(0);
    fs::write(scratch.path("m2/1/x"), [7; 100_000]).unwrap();
    assert_eq!(fs::read(scratch.path("m2/local1/x")).unwrap(), [7; 100_000]);
    let status = stage.garland.run(&["mount", "--status", "--json", "m2"]).with_code(0).json();
    let mount = &status["mounts"][0];
    assert_eq!((&mount["state"], &mount["nodes"]), (&"up".into(), &"local1".into()), "{status}");
    let node = &mount["account"]["nodes"][0];
    assert_eq!(node["bytes_written"], 100_000, "{status}");
    let table = stage.garland.run(&["mount", "--status"]).with_code(0).out;
    assert_eq!(table.matches("up, process").count(), 2, "{table}");
    let link = shell(scratch.folder(), "readlink m2/1 m2/here m2/home");
    assert_eq!(link, "local1\n/\n/\n");
    let said = Command::new("umount").arg(scratch.path("m2")).status();
    assert!(said.expect("umount can be started").success());
    until("the end of its process", || {
        let all = scratch.processes();
        !all.iter().any(|process| process.command.contains("m2"))
    });
    let status = stage.garland.run(&["mount", "--status", "--json"]).with_code(0).json();
    assert_eq!(status["mounts"].as_array().map(Vec::len), Some(1), "{status}");
    stage.end();
}

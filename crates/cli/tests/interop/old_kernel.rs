//! Commands on a kernel of 2018 (Linux 4.18, RHEL 8): without openat2, pidfds, io_uring,
//! close_range and other calls that came later. Each works by a fallback, or says what the kernel
//! lacks.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use garland_sys::process::end_with_parent;
use garland_testkit::{
    Garland, Running, Scratch, assert_copied, locals, random_bytes, random_file, source, until,
};

fn garland_in(scratch: &Scratch) -> Garland<'_> {
    Garland::new(env!("CARGO_BIN_EXE_garland"), scratch).on_old_kernel()
}

/// Runs `garland ARGUMENTS` with the nodes' directories in the scratch directory.
#[track_caller]
fn run(garland: &Garland<'_>, scratch: &Scratch, command: &str, arguments: &[&str]) -> String {
    let roots = scratch.path("roots").display().to_string();
    let first = [command, "--local-root", &roots];
    garland.run(&[&first[..], arguments].concat()).with_code(0).out
}

#[track_caller]
fn assert_same_file(one: &Path, other: &Path) {
    let same = fs::read(one).expect("a file") == fs::read(other).expect("a file");
    assert!(same, "{} and {} differ", one.display(), other.display());
}

#[test]
fn this_kernel_is_old() {
    let scratch = Scratch::new("old-calls");
    let calls = "import os\n\
        try: os.pidfd_open(os.getpid())\n\
        except OSError as error: print(error.strerror)\n";
    let python = Garland::new("/usr/bin/env", &scratch).on_old_kernel();
    let said = python.run(&["python3", "-c", calls]).with_code(0);
    assert_eq!(said.out, "Function not implemented\n");
}

#[test]
fn files_go_out_in_chains_and_stripes_and_come_back() {
    let scratch = Scratch::new("old-files");
    let garland = garland_in(&scratch);
    let path = source(&scratch, 9_000_001);
    locals(3).for_each(|node| fs::create_dir_all(scratch.root(&node).join("d")).expect("made"));
    let _ = garland.cp(&["source.bin", "local[1-3]:/d/x"]).with_code(0);
    assert_copied(&scratch, locals(3), "d/x", &path);
    let _ = garland.cp(&["local[1-3]:/d/x", "all/"]).with_code(0);
    locals(3).for_each(|node| assert_same_file(&path, &scratch.path(format!("all/{node}/x"))));
    let _ = garland.cp(&["--stripe=64KiB", "source.bin", "local[1-3]:/d/"]).with_code(0);
    let _ = garland.cp(&["--stripe", "local[1-3]:/d/source.bin", "back"]).with_code(0);
    assert_same_file(&path, &scratch.path("back"));
    // Nothing has changed: the second copy compares.
    let _ = garland.cp(&["source.bin", "local[1-3]:/d/x"]).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn trees_go_out_and_come_back() {
    let scratch = Scratch::new("old-trees");
    let garland = garland_in(&scratch);
    fs::create_dir_all(scratch.path("tree/a/b")).expect("it can be made");
    random_file(&scratch.path("tree/a/b/file"), 300_000, 1);
    symlink("b/file", scratch.path("tree/a/link")).expect("it can be made");
    fs::write(scratch.path("tree/gone"), b"gone").expect("it can be written");
    let _ = garland.cp(&["-r", "tree", "local[1-2]:/"]).with_code(0);
    fs::remove_file(scratch.path("tree/gone")).expect("it was written");
    random_file(&scratch.path("tree/a/new"), 10, 2);
    let _ = garland.cp(&["-r", "--delete", "tree/", "local[1-2]:/tree"]).with_code(0);
    let _ = garland.cp(&["-r", "local[1-2]:/tree", "back"]).with_code(0);
    let equal = |folder: &Path| {
        let mut diff = Command::new("diff");
        diff.args(["-r", "--no-dereference"]).arg(scratch.path("tree")).arg(folder);
        assert!(diff.status().expect("diff starts").success(), "{}", folder.display());
    };
    for node in locals(2) {
        equal(&scratch.root(&node).join("tree"));
        equal(&scratch.path(format!("back/{node}/tree")));
    }
    scratch.assert_nothing_left();
}

#[test]
fn no_path_leads_out_of_a_root_and_links_inside_are_followed() {
    let scratch = Scratch::new("old-confined");
    let garland = garland_in(&scratch);
    let path = source(&scratch, 100_000);
    let root = scratch.root("local1");
    fs::create_dir_all(root.join("in")).expect("it can be made");
    fs::create_dir_all(scratch.path("out")).expect("it can be made");
    symlink(scratch.path("out"), root.join("absolute")).expect("it can be made");
    symlink("../../out", root.join("relative")).expect("it can be made");
    symlink("/in", root.join("inside")).expect("it can be made");
    let _ = garland.cp(&["source.bin", "local1:/inside/x"]).with_code(0);
    assert_same_file(&path, &root.join("in/x"));
    for link in ["absolute", "relative", "../../out"] {
        let _ = garland.cp(&["source.bin", &format!("local1:/{link}/x")]);
    }
    assert_eq!(fs::read_dir(scratch.path("out")).expect("the directory exists").count(), 0);
    scratch.assert_nobody_left();
}

#[test]
fn commands_run_on_nodes_and_read_copies() {
    let scratch = Scratch::new("old-commands");
    let garland = garland_in(&scratch);
    let path = source(&scratch, 3_000_000);
    let _ = garland.cp(&["source.bin", "local[1-2]:|cat > piped"]).with_code(0);
    assert_copied(&scratch, locals(2), "piped", &path);
    let _ = garland.cp(&["|head -c 5000 source.bin", "local[1-2]:/head"]).with_code(0);
    let said = run(&garland, &scratch, "exec", &["local[1-2]", "--", "echo", "here"]);
    assert!(said.contains("here"), "{said}");
    scratch.assert_nothing_left();
}

#[test]
fn jobs_of_a_farm_run_and_end_at_their_time() {
    let scratch = Scratch::new("old-farm");
    let garland = garland_in(&scratch);
    let marks = scratch.path("marks");
    fs::create_dir(&marks).expect("it can be made");
    let line = |number: u32| format!("sleep 0.1; echo >>'{}/{number}'\n", marks.display());
    fs::write(scratch.path("jobs"), (1..=30).map(line).collect::<String>()).expect("written");
    let _ = garland.run(&["farm", "run", "jobs", "local[1-2]", "--slots", "2"]).with_code(0);
    assert_eq!(fs::read_dir(&marks).expect("the directory exists").count(), 30);
    fs::write(scratch.path("long"), "sleep 1000\n").expect("it can be written");
    let said = garland.run(&["farm", "run", "long", "local1", "--timeout", "0.5s"]);
    assert_ne!(said.code, 0, "{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn disks_and_messages_are_measured() {
    let scratch = Scratch::new("old-measured");
    let garland = garland_in(&scratch);
    let disk = ["--json", "--size", "8MiB", "--time", "50ms", "--depth", "4", "local1:/"];
    let said = run(&garland, &scratch, "disk", &disk);
    assert!(said.contains("io_uring is not available"), "{said}");
    for transport in ["tcp", "shm"] {
        let ping = ["local[1-2]", "--transport", transport, "-n", "200", "64"];
        let _ = garland.run(&[&["ping"], &ping[..]].concat()).with_code(0);
    }
    scratch.assert_nobody_left();
}

#[test]
fn standing_agents_serve_copies_and_mounts() {
    let scratch = Scratch::new("old-standing");
    let garland = garland_in(&scratch);
    let path = source(&scratch, 1_000_000);
    let _ = run(&garland, &scratch, "up", &["local[1-2]"]);
    let _ = garland.cp(&["source.bin", "local[1-2]:/x"]).with_code(0);
    assert_copied(&scratch, locals(2), "x", &path);
    let folder = scratch.path("m");
    fs::create_dir_all(&folder).expect("it can be made");
    let before = fs::metadata(&folder).expect("it was made").dev();
    let mut command = garland.command(&["mount", "--foreground", "m", "local[1-2]"]);
    end_with_parent(&mut command);
    let served = Running::start(command);
    until("a mount", || fs::metadata(&folder).is_ok_and(|stat| stat.dev() != before));
    assert_same_file(&path, &folder.join("local1/x"));
    let bytes = random_bytes(50_000, 3);
    fs::create_dir(folder.join("local2/new")).expect("it can be made");
    fs::write(folder.join("local2/new/file"), &bytes).expect("it can be written");
    fs::rename(folder.join("local2/new/file"), folder.join("local2/renamed")).expect("renamed");
    assert!(fs::read(scratch.root("local2").join("renamed")).expect("the file exists") == bytes);
    let _ = garland.run(&["mount", "--unmount", "m"]).with_code(0);
    let _ = served.end().with_code(0);
    let _ = garland.run(&["down", "local[1-2]"]).with_code(0);
    scratch.assert_nobody_left();
}

#[test]
fn a_lab_is_built_and_removed() {
    let scratch = Scratch::new("old-lab");
    let garland = garland_in(&scratch);
    let path = source(&scratch, 500_000);
    let _ = garland.run(&["lab", "up", "--nodes", "2"]).with_code(0);
    let _ = garland.run(&["cp", "source.bin", "lab:n[1-2]:/x"]).with_code(0);
    let _ = garland.run(&["cp", "lab:n2:/x", "back"]).with_code(0);
    assert_same_file(&path, &scratch.path("back"));
    let _ = garland.run(&["lab", "exec", "n2", "--", "true"]).with_code(0);
    let _ = garland.run(&["lab", "down"]).with_code(0);
    scratch.assert_nobody_left();
}

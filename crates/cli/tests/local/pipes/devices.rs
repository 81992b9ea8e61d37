//! Block devices, named pipes and other things that are there already, as sources and destinations.
//! These tests make loop devices: run them as root, where the kernel has some.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use garland_testkit::{Scratch, random_bytes, random_file, until, verdict};

use crate::pipes::{assert_copied, garland_in, locals, source};

const MIB: u64 = 1 << 20;

/// A file as a disk; gone with the test.
struct Loop(PathBuf);

impl Loop {
    fn attach(file: &Path) -> Self {
        let mut command = Command::new("losetup");
        let made = command.args(["--find", "--show"]).arg(file).output().expect("losetup is there");
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(made.status.success(), "this test needs loop devices, as root: {said}");
        Self(PathBuf::from(String::from_utf8_lossy(&made.stdout).trim()))
    }

    /// Makes a node of the device in the directory of a node.
    fn in_root(&self, scratch: &Scratch, node: &str, name: &str) {
        let number = self.0.metadata().expect("the device exists").rdev();
        let major_number = rustix::fs::major(number);
        let minor_number = rustix::fs::minor(number);
        let root = scratch.root(node);
        std::fs::create_dir_all(&root).expect("it can be made");
        run(
            "mknod",
            &[
                root.join(name).as_os_str(),
                "b".as_ref(),
                major_number.to_string().as_ref(),
                minor_number.to_string().as_ref(),
            ],
        );
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // Whoever fails says why by itself.
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

#[track_caller]
fn run(program: &str, arguments: &[&std::ffi::OsStr]) {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A disk of `mib` MiB for each of two nodes, `/disk` there.
fn attach_disks(scratch: &Scratch, mib: u64) -> Vec<Loop> {
    let disk = |node: String| {
        let image = scratch.path(format!("{node}.img"));
        random_file(&image, mib * MIB, 77);
        let disk = Loop::attach(&image);
        disk.in_root(scratch, &node, "disk");
        disk
    };
    locals(2).map(disk).collect()
}

fn head_of(path: &Path, length: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = File::open(path).expect("the file exists");
    file.take(length).read_to_end(&mut bytes).expect("it can be read");
    bytes
}

#[test]
fn a_device_gets_the_bytes_where_it_is_and_gives_them() {
    let scratch = Scratch::new("device");
    let from = source(&scratch, 5 * MIB + 512);
    let disks = attach_disks(&scratch, 8);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["source.bin", "local[1-2]:/disk"]).with_code(0);
    let wanted = std::fs::read(&from).expect("the file exists");
    for disk in &disks {
        assert!(head_of(&disk.0, wanted.len() as u64) == wanted);
    }
    // As a source it is as long as it is.
    let device = disks[0].0.to_str().expect("it is text");
    let result = garland.cp(&["--json", device, "local[1-2]:/image"]).with_code(0).json();
    assert_eq!(result["bytes"], 8 * MIB);
    assert_copied(&scratch, locals(2), "image", &disks[0].0);
    drop(disks);
    scratch.assert_nothing_left();
}

#[test]
fn zeros_and_streams_reach_every_byte_of_a_device() {
    let scratch = Scratch::new("device-zeros");
    let disks = attach_disks(&scratch, 4);
    let sparse = File::create(scratch.path("sparse")).expect("it can be made");
    sparse.set_len(4 * MIB).expect("it can be long");
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["sparse", "local[1-2]:/disk"]).with_code(0);
    for disk in &disks {
        assert!(head_of(&disk.0, 4 * MIB).iter().all(|byte| *byte == 0), "what was there is gone");
    }
    let stream = "|head -c 3000000 /dev/zero | tr '\\0' x";
    let _ = garland.cp(&[stream, "local[1-2]:/disk"]).with_code(0);
    assert!(head_of(&disks[1].0, 3_000_000).iter().all(|byte| *byte == b'x'));
    // A stream that turns out too long ends when the device does.
    let result = garland.cp(&["--json", "|head -c 5000000 /dev/zero", "local1:/disk"]);
    let result = result.with_code(3).json();
    assert_eq!(
        verdict(&result, "local1"),
        ("failed", "cannot write /disk: no space left on device")
    );
    drop(disks);
    scratch.assert_nothing_left();
}

#[test]
fn one_that_is_in_use_or_too_small_is_refused() {
    let scratch = Scratch::new("device-used");
    let from = source(&scratch, 5 * MIB);
    let disks = attach_disks(&scratch, 6);
    let small = Loop::attach(&{
        random_file(&scratch.path("small.img"), 4 * MIB, 3);
        scratch.path("small.img")
    });
    small.in_root(&scratch, "local1", "small");
    let garland = garland_in(&scratch);
    let result = garland.cp(&["--json", "source.bin", "local1:/small"]).with_code(3).json();
    let reason = "cannot write to /small: it has 4194304 bytes, but 5242880 are needed";
    assert_eq!(verdict(&result, "local1"), ("failed", reason));
    run("mkswap", &[disks[1].0.as_os_str()]);
    run("mkfs.ext4", &["-q".as_ref(), disks[0].0.as_os_str()]);
    let place = scratch.path("mounted here");
    std::fs::create_dir(&place).expect("it can be made");
    run("mount", &[disks[0].0.as_os_str(), place.as_os_str()]);
    let result = garland.cp(&["--json", "source.bin", "local[1-2]:/disk"]).with_code(1).json();
    run("umount", &[place.as_os_str()]);
    let (word, reason) = verdict(&result, "local1");
    let wanted =
        format!("cannot write to /disk: it is mounted on {}; --force-device", place.display());
    assert!(word == "failed" && reason.starts_with(&wanted), "{reason}");
    assert_eq!(verdict(&result, "local2"), ("ok", ""), "nobody uses it");
    assert!(head_of(&disks[0].0, 5 * MIB) != std::fs::read(&from).expect("the file exists"));
    run("mount", &[disks[0].0.as_os_str(), place.as_os_str()]);
    let forced = garland.cp(&["--force-device", "source.bin", "local1:/disk"]);
    run("umount", &[place.as_os_str()]);
    let _ = forced.with_code(0);
    drop((disks, small));
    scratch.assert_nothing_left();
}

#[test]
fn a_named_pipe_gets_the_bytes_of_its_reader_who_may_come_late() {
    let scratch = Scratch::new("fifo-sink");
    let from = source(&scratch, 3_333_333);
    let root = scratch.root("local1");
    std::fs::create_dir_all(&root).expect("it can be made");
    run("mkfifo", &[root.join("fifo").as_os_str()]);
    let garland = garland_in(&scratch);
    let copy = garland.start_cp(&["source.bin", "local1:/fifo"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let got = std::fs::read(root.join("fifo")).expect("it can be read");
    let _ = copy.end().with_code(0);
    assert!(got == std::fs::read(&from).expect("the file exists"));
    // One that goes away before the end fails it.
    let copy = garland.start_cp(&["--json", "source.bin", "local1:/fifo"]);
    let mut reader = File::open(root.join("fifo")).expect("it can be read");
    reader.read_exact(&mut [0; 10]).expect("it gets some");
    drop(reader);
    let result = copy.end().with_code(3).json();
    assert_eq!(verdict(&result, "local1"), ("failed", "cannot write /fifo: broken pipe"));
    // One that never comes is given up.
    let copy = garland.start_cp(&["source.bin", "local1:/fifo"]);
    until("an agent", || scratch.processes().iter().any(|process| process.is_agent(Some(&root))));
    copy.process().interrupt();
    let _ = copy.end().with_code(130);
    scratch.assert_nothing_left();
}

#[test]
fn memory_and_dev_null_will_do_and_other_devices_will_not() {
    let scratch = Scratch::new("device-odd");
    let from = source(&scratch, 2 * MIB);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["source.bin", "local1:/dev/null"]).with_code(0);
    let root = scratch.root("local1");
    run("mknod", &[root.join("tty").as_os_str(), "c".as_ref(), "5".as_ref(), "0".as_ref()]);
    let result = garland.cp(&["--json", "source.bin", "local1:/tty"]).with_code(3).json();
    let reason = "cannot write to /tty: it is a character device; only /dev/null is supported";
    assert_eq!(verdict(&result, "local1"), ("failed", reason));
    // What is in memory is a folder as any other.
    let shared = tempfile("/dev/shm", &scratch);
    std::os::unix::fs::symlink(&shared, root.join("shm")).expect("it can be made");
    let roots = ["cp", "--local-root", shared.to_str().expect("text"), "source.bin", "local1:/x"];
    let _ = garland.run(&roots).with_code(0);
    let got = std::fs::read(shared.join("local1/x")).expect("the file exists");
    assert!(got == std::fs::read(&from).expect("the file exists"));
    std::fs::remove_dir_all(&shared).expect("it is ours");
    scratch.assert_nothing_left();
}

/// A folder in `place` named for this test.
fn tempfile(place: &str, scratch: &Scratch) -> PathBuf {
    let name = scratch.folder().file_name().expect("it has a name");
    let folder = Path::new(place).join(name);
    std::fs::create_dir_all(&folder).expect("there is room");
    let mut file = File::create(folder.join("probe")).expect("it can be made");
    file.write_all(&random_bytes(10, 1)).expect("there is room");
    folder
}

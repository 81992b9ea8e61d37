//! Agents that are killed, stopped and cut off while somebody reads and writes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use garland_sys::clock;
use garland_testkit::{Scratch, random_file, soon, until};

use crate::mount::stage::Stage;

/// Whoever is left alone by an agent learns it in this time.
const LIMIT: Duration = Duration::from_secs(5);

/// Does `work` until it fails; how long after `harm` that was.
fn until_it_fails(
    mut work: impl FnMut() -> io::Result<()> + Send,
    harm: impl FnOnce(),
) -> (Duration, io::Error) {
    std::thread::scope(|scope| {
        let working = scope.spawn(move || {
            loop {
                if let Err(error) = work() {
                    return (clock::now_ns(), error);
                }
            }
        });
        std::thread::sleep(Duration::from_millis(100));
        let harmed = clock::now_ns();
        harm();
        let (failed, error) = working.join().expect("it doesn't panic");
        (Duration::from_nanos(failed.saturating_sub(harmed)), error)
    })
}

fn read_all(path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}

#[test]
fn a_killed_agent_gives_an_error_soon_and_the_folder_is_back_with_it() {
    let scratch = Scratch::new("mount-killed");
    let stage = Stage::new(&scratch, 2);
    random_file(&stage.at_node("local1/x"), 30 << 20, 1);
    soon("an error after an agent's death", LIMIT, || {
        // Changed each time, so that nothing is read from the kernel's pages.
        let reads = || {
            let file = OpenOptions::new().write(true).open(stage.at_node("local1/x"))?;
            let now = Duration::from_nanos(clock::wall_ns());
            file.set_modified(std::time::UNIX_EPOCH + now)?;
            read_all(&stage.path("local1/x"))
        };
        let (took, error) = until_it_fails(reads, || stage.agent("local1").kill());
        assert!([Some(5), Some(112)].contains(&error.raw_os_error()), "{error}");
        fs::write(stage.path("local2/other"), "y").expect("the other node is there");
        stage.up();
        until("the folder", || read_all(&stage.path("local1/x")).is_ok());
        took
    });
    stage.end();
}

#[test]
fn an_fsync_of_a_directory_waits_for_its_node() {
    let scratch = Scratch::new("mount-sync-names");
    let stage = Stage::new(&scratch, 1);
    fs::write(stage.path("local1/new"), "x").unwrap();
    fs::rename(stage.path("local1/new"), stage.path("local1/x")).unwrap();
    let folder = File::open(stage.path("local1")).unwrap();
    folder.sync_all().unwrap();
    stage.agent("local1").kill();
    let error = folder.sync_all().unwrap_err();
    assert!([Some(5), Some(112)].contains(&error.raw_os_error()), "{error}");
    drop(folder);
    stage.up();
    stage.end();
}

#[test]
fn a_stopped_agent_is_a_dead_one() {
    let scratch = Scratch::new("mount-stopped");
    let stage = Stage::new(&scratch, 1);
    fs::write(stage.at_node("local1/x"), "x").unwrap();
    let agent = stage.agent("local1");
    soon("an error after an agent was stopped", LIMIT, || {
        let reads = || fs::write(stage.path("local1/y"), "y");
        let (took, error) = until_it_fails(reads, || agent.stop());
        assert!([Some(5), Some(112)].contains(&error.raw_os_error()), "{error}");
        agent.go_on();
        until("the folder", || fs::read(stage.path("local1/x")).is_ok());
        took
    });
    stage.end();
}

#[test]
fn bytes_that_never_reached_the_node_are_told_of_and_not_shown() {
    let scratch = Scratch::new("mount-lost");
    let stage = Stage::new(&scratch, 1);
    let path = stage.path("local1/x");
    fs::write(&path, vec![1; 1 << 20]).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    stage.agent("local1").stop();
    // These are taken at once, and never get there.
    file.write_all_at(&vec![2; 1 << 20], 0).expect("there is room ahead");
    stage.agent("local1").kill();
    until("an error", || file.sync_all().is_err());
    assert!(file.write_all_at(b"more", 0).is_err(), "it stays so for this handle");
    drop(file);
    stage.up();
    until("the folder", || File::open(&path).is_ok());
    assert!(fs::read(&path).unwrap() == fs::read(stage.at_node("local1/x")).unwrap());
    stage.end();
}

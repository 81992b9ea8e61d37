//! An object that has a name: it is read once, and the nodes that have it give it to others.

use std::fs;

use garland_testkit::{RunOutput, Scratch};

use crate::remote::server::Server;
use crate::remote::{file, garland_in};

const LENGTH: u64 = (9 << 20) + 1;

#[test]
fn an_origin_is_read_for_all_and_only_if_nobody_else_has_it() {
    let scratch = Scratch::new("names-origin");
    let path = file(&scratch, "site/model", LENGTH);
    let content = fs::read(&path).expect("the file exists");
    let server = Server::http(&scratch, &scratch.path("site"));
    let url = format!("{}/model", server.url);
    let garland = garland_in(&scratch);
    let roots = scratch.path("roots").display().to_string();
    let run = |words: &[&str]| -> RunOutput {
        let mut command = garland.command(words);
        // The server is on loopback, where no proxy leads.
        command.env("NO_PROXY", "*");
        garland_testkit::Running::start(command).end()
    };
    let get = |to: &str| run(&["get", "--local-root", &roots, "m", to]);
    let assert_has = |node: &str, path: &str| {
        assert!(
            fs::read(scratch.root(node).join(path)).expect("the file exists") == content,
            "{node}"
        );
    };
    let _ = run(&["up", "--local-root", &roots, "local[1-3]"]).with_code(0);
    let secret = run(&["publish", &format!("{url}?token=x"), "--as", "m"]).with_code(2);
    assert!(secret.err.contains("would see the secrets"), "{}", secret.err);
    let said = run(&["publish", &url, "--as", "m"]).with_code(0);
    assert!(said.out.contains(&format!("held by {url}\n")), "{}", said.out);
    let said = get("local[1-2]:/x").with_code(0);
    assert!(said.out.contains(&format!("from    9.00 MiB of {url}\n")), "{}", said.out);
    ["local1", "local2"].iter().for_each(|node| assert_has(node, "x"));
    // Those that have it now are asked, and the origin takes their place when they have lost it.
    let said = get("local3:/y").with_code(0);
    assert!(!said.out.contains(&url) && said.out.contains(" of local"), "{}", said.out);
    for (node, path) in [("local1", "x"), ("local2", "x"), ("local3", "y")] {
        fs::write(scratch.root(node).join(path), "other").expect("it is written");
    }
    let said = get("local3:/z").with_code(0);
    assert!(said.out.contains(&format!("from    9.00 MiB of {url}\n")), "{}", said.out);
    assert_has("local3", "z");
    // An object that has changed is not what the name stands for.
    fs::write(scratch.root("local3").join("z"), "other").expect("it is written");
    let changed: Vec<u8> = content.iter().map(|byte| !byte).collect();
    fs::write(&path, changed).expect("it is written");
    let said = get("local1:/z").with_code(3);
    assert!(said.out.contains("the object differs in block "), "{}", said.out);
    assert!(!scratch.root("local1").join("z").exists());
    let _ = run(&["down"]).with_code(0);
    drop(server);
    scratch.assert_nobody_left();
}

#[test]
fn a_prefix_is_one_name() {
    let scratch = Scratch::new("names-prefix");
    let shards: Vec<Vec<u8>> = (0..12)
        .map(|shard| {
            let name = format!("store/models/v1/layer {}/{shard:02}", shard % 2);
            fs::read(file(&scratch, &name, 100_000 + shard)).expect("the file exists")
        })
        .collect();
    let server = Server::s3(&scratch, &scratch.path("store"), &[]);
    let garland = garland_in(&scratch);
    let roots = scratch.path("roots").display().to_string();
    let run = |words: &[&str]| -> RunOutput {
        let mut command = garland.command(words);
        command.envs([("AWS_ACCESS_KEY_ID", "KEY"), ("AWS_SECRET_ACCESS_KEY", "SECRET")]);
        command.env("NO_PROXY", "*").env("AWS_ENDPOINT_URL", &server.url);
        garland_testkit::Running::start(command).end()
    };
    let readings = || server.said().matches("GET OBJECT").count();
    let _ = run(&["up", "--local-root", &roots, "local[1-3]"]).with_code(0);
    let said = run(&["publish", "s3://models/v1/", "--as", "m"]).with_code(0);
    assert!(said.out.contains("in 12 files, root "), "{}", said.out);
    let before = readings();
    let get = |to: &str| run(&["get", "--local-root", &roots, "m", to]).with_code(0);
    let _ = get("local[1-2]:/to/");
    assert_eq!(readings() - before, 12, "each object is read once for both nodes");
    let said = get("local[1-3]:/to/");
    assert_eq!(readings() - before, 12, "the nodes have them: {}", said.out);
    for (number, shard) in shards.iter().enumerate() {
        for node in ["local1", "local2", "local3"] {
            let path = format!("to/v1/layer {}/{number:02}", number % 2);
            assert!(fs::read(scratch.root(node).join(path)).expect("the file exists") == *shard);
        }
    }
    // All are stored again, one of them with other bytes, which moves alone: whether the store
    // tells new times, or old ones that it remembers.
    let folder = scratch.path("store/models/v1");
    for (number, shard) in shards.iter().enumerate() {
        let mut bytes = shard.clone();
        bytes[0] ^= u8::from(number == 5);
        let path = folder.join(format!("layer {}/{number:02}", number % 2));
        fs::write(&path, bytes).expect("it is written");
        let later = std::time::UNIX_EPOCH + std::time::Duration::from_secs(2_000_000_000);
        let file = fs::File::options().write(true).open(path).expect("it is opened");
        file.set_modified(later).expect("the time is set");
    }
    let said = run(&["publish", "s3://models/v1/", "--as", "m"]).with_code(0);
    assert!(said.out.contains("in place of "), "{}", said.out);
    let before = readings();
    let said = get("local[1-3]:/to/");
    assert_eq!(readings() - before, 1, "{}", said.out);
    assert!(said.out.contains("from    97.66 KiB of "), "{}", said.out);
    let changed =
        fs::read(scratch.root("local3").join("to/v1/layer 1/05")).expect("the file exists");
    assert_eq!((changed[0], &changed[1..]), (shards[5][0] ^ 1, &shards[5][1..]));
    let _ = run(&["down"]).with_code(0);
    drop(server);
    scratch.assert_nobody_left();
}

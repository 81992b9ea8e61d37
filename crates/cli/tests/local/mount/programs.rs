//! Programs that know nothing of Garland work on a mount as on a disk.

use garland_testkit::{Scratch, random_bytes, random_file};

use crate::mount::stage::{Stage, shell};

#[test]
fn files_are_copied_and_read_back() {
    let scratch = Scratch::new("mount-files");
    let stage = Stage::new(&scratch, 2);
    random_file(&scratch.path("source"), 9_000_001, 1);
    shell(
        scratch.folder(),
        "cp source m/local1/a
         dd if=m/local1/a of=m/local2/b bs=7k status=none
         dd if=m/local2/b of=m/local2/c bs=1M conv=fsync status=none
         cmp source roots/local1/a
         cmp m/local2/b source
         cmp m/local2/c roots/local2/b
         mv m/local1/a m/local2/moved
         cmp m/local2/moved source
         test ! -e roots/local1/a
         cp --sparse=always m/local2/b m/2/sparse
         cmp m/2/sparse source
         truncate -s 5 m/2/sparse
         test $(stat -c %s roots/local2/sparse) = 5
         [ \"$(sha256sum <m/1/../2/c)\" = \"$(sha256sum <source)\" ]",
    );
    stage.end();
}

#[test]
fn trees_go_in_and_out_by_rsync_and_tar() {
    let scratch = Scratch::new("mount-trees");
    let stage = Stage::new(&scratch, 1);
    shell(
        scratch.folder(),
        "mkdir -p t/d/e t/empty
         for i in $(seq 200); do echo $i >t/d/$i; done
         head -c 300000 /dev/urandom >t/d/e/large
         ln -s ../d/1 t/d/e/link; ln t/d/2 t/d/e/hard; mkfifo t/pipe; chmod 4711 t/d/3; chmod 700 t/d
         touch -d '2001-02-03 04:05:06.789' t/d/4 t/empty
         rsync -aH --checksum t/ m/local1/r
         rsync -aHn --checksum --itemize-changes --delete t/ m/local1/r >changes
         test ! -s changes
         rsync -aHn --checksum --itemize-changes t/ roots/local1/r/ >changes
         test ! -s changes
         tar -C m/local1 -cf x.tar r
         mkdir m/local1/u; tar -C m/local1/u -xpf x.tar
         rsync -aHn --checksum --itemize-changes m/local1/u/r/ t >changes
         test ! -s changes
         cp -a m/local1/r m/local1/s
         diff -r --no-dereference -x pipe t m/local1/s
         rm -r m/local1/r m/local1/u m/local1/s
         test -z \"$(ls roots/local1)\"",
    );
    stage.end();
}

#[test]
fn git_works_on_it() {
    let scratch = Scratch::new("mount-git");
    let stage = Stage::new(&scratch, 1);
    let said = shell(
        &stage.path("local1"),
        "export HOME=$PWD GIT_CONFIG_NOSYSTEM=1
         git init -q r; cd r; git config user.email a@b; git config user.name a
         for i in $(seq 50); do echo $i >f$i; done
         git add .; git commit -qm one
         git status --porcelain
         echo more >>f7; rm f8; git status --porcelain
         git stash -q; git status --porcelain; git stash pop -q
         git commit -qam two; git gc -q; git fsck --no-dangling; git log --oneline | wc -l",
    );
    assert_eq!(said, " M f7\n D f8\n2\n");
    stage.end();
}

#[test]
fn an_editors_save_is_seen_at_once_and_whole() {
    let scratch = Scratch::new("mount-editor");
    let stage = Stage::new(&scratch, 1);
    shell(
        scratch.folder(),
        "for i in $(seq 20); do
           echo text $i >m/local1/.x.swp; sync m/local1/.x.swp; mv m/local1/.x.swp m/local1/x
           [ \"$(cat m/local1/x)\" = \"text $i\" ]
           [ \"$(cat roots/local1/x)\" = \"text $i\" ]
         done
         sed -i s/text/line/ m/local1/x
         [ \"$(cat roots/local1/x)\" = 'line 20' ]
         echo more >>m/local1/x
         [ \"$(wc -l <roots/local1/x)\" = 2 ]",
    );
    stage.end();
}

#[test]
fn editors_save_what_was_edited() {
    let scratch = Scratch::new("mount-editors");
    let stage = Stage::new(&scratch, 1);
    // By a new file under the old name, over the old one, and with a backup beside it.
    shell(
        scratch.folder(),
        "seq 20000 >m/local1/x; cp m/local1/x expected
         edit() {
           vim -u NONE -es -c \"set backupskip= $1\" -c \"%s/$2/$3/\" -c wq m/local1/x
           sed -i s/$2/$3/ expected
           cmp m/local1/x expected; cmp roots/local1/x expected
         }
         edit 'backup backupcopy=no' 1$ one
         edit 'writebackup backupcopy=yes' 2$ two
         edit 'nobackup nowritebackup fsync' 3$ three
         [ \"$(ls -A m/local1 | tr '\\n' ' ')\" = 'x x~ ' ]
         printf '5s/^/ed was here /\\n$a\\nlast\\n.\\nw\\nq\\n' | ed -s m/local1/x
         [ \"$(sed -n 5p roots/local1/x)\" = 'ed was here 5' ]
         [ \"$(tail -n1 roots/local1/x)\" = last ]",
    );
    stage.end();
}

#[test]
fn a_program_that_runs_keeps_its_bytes() {
    let scratch = Scratch::new("mount-runs");
    let stage = Stage::new(&scratch, 1);
    shell(
        scratch.folder(),
        "cp $(command -v sleep) m/local1/program
         m/local1/program 600 & program=$!
         until [ \"$(readlink /proc/$program/exe)\" = $PWD/m/local1/program ]; do sleep 0.01; done
         ! dd if=/dev/null of=m/local1/program 2>said
         grep -q 'Text file busy' said
         cut='import os, sys; os.open(sys.argv[1], os.O_RDONLY | os.O_TRUNC)'
         ! python3 -c \"$cut\" m/local1/program 2>said
         grep -q 'Text file busy' said
         cmp $(command -v sleep) roots/local1/program
         kill $program; wait $program || true
         : >m/local1/program
         test ! -s roots/local1/program",
    );
    stage.end();
}

#[test]
fn an_encode_from_one_node_to_another_gives_the_same_as_at_home() {
    let scratch = Scratch::new("mount-encode");
    let stage = Stage::new(&scratch, 2);
    random_file(&scratch.path("sound"), 1_000_000, 1);
    // It goes back to its head at the end, and writes there.
    shell(
        scratch.folder(),
        "cp sound m/local1/sound
         lame --quiet -r -s 44.1 m/local1/sound m/local2/sound.mp3
         lame --quiet -r -s 44.1 sound sound.mp3
         cmp sound.mp3 m/local2/sound.mp3; cmp sound.mp3 roots/local2/sound.mp3
         lame --quiet --decode m/local2/sound.mp3 m/local1/back.wav
         lame --quiet --decode sound.mp3 back.wav
         cmp back.wav roots/local1/back.wav
         test $(stat -c %s back.wav) -gt 900000",
    );
    stage.end();
}

#[test]
fn what_changes_at_the_node_is_seen_by_whoever_opens_next() {
    let scratch = Scratch::new("mount-changes");
    let stage = Stage::new(&scratch, 1);
    for round in 0..30_u64 {
        // The same length each time, so that only times tell.
        let bytes = random_bytes(100_000, round);
        std::fs::write(stage.at_node("local1/x"), &bytes).expect("it can be written");
        let content = std::fs::read(stage.path("local1/x")).expect("it can be read");
        assert!(content == bytes, "round {round} read old bytes");
    }
    stage.end();
}

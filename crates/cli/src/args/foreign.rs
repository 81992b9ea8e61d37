//! What to write for options that the fingers know from other programs.

/// An option of another program, which a command of this one does not have.
struct ForeignOption {
    command: &'static str,
    /// The option, as clap names it in an error.
    names: &'static [&'static str],
    advice: &'static str,
}

const OPTIONS: &[ForeignOption] = &[
    ForeignOption {
        command: "cp",
        names: &["-z"],
        advice: "rsync's -z is --compress=auto here, which compresses if that is faster",
    },
    ForeignOption {
        command: "cp",
        names: &["-R"],
        advice: "directories are copied with -r; for rsync's -R, which keeps paths, write the \
                 paths to a file: -r --files-from=FILE SOURCE, relative to SOURCE",
    },
    ForeignOption {
        command: "cp",
        names: &["-P", "--partial"],
        advice: "leave it out: progress is shown on a terminal, and what has arrived is kept \
                 (garland cp --resume last)",
    },
    ForeignOption {
        command: "cp",
        names: &["--progress <FORM>"],
        advice: "progress is shown on a terminal in any case; --progress=json is for programs",
    },
    ForeignOption {
        command: "cp",
        names: &["-W", "--whole-file"],
        advice: "rsync's -W is --whole here: nothing is compared, all is sent",
    },
    ForeignOption {
        command: "cp",
        names: &["-e", "--rsh"],
        advice: "ssh has your own configuration (~/.ssh/config); other options for it are \
                 `options` below [ssh] in a cluster file: garland man cluster.toml",
    },
    ForeignOption {
        command: "cp",
        names: &["--stats"],
        advice: "each copy prints its rate and times; garland explain says where they went, and \
                 --json has all figures",
    },
    ForeignOption {
        command: "cp",
        names: &["-j", "--jobs", "--parallel"],
        advice: "leave it out: the nodes pass the data on to each other, all at the same time",
    },
    ForeignOption {
        command: "cp",
        names: &["-u", "--update"],
        advice: "leave it out: only what differs is sent; a newer file on a node is replaced, too",
    },
    ForeignOption {
        command: "cp",
        names: &["-S", "--sparse"],
        advice: "leave it out: holes are kept",
    },
    ForeignOption {
        command: "exec",
        names: &["-w", "-g"],
        advice: "the nodes come first: garland exec 'n[1-4]' COMMAND, or @GROUP of a cluster file",
    },
    ForeignOption {
        command: "exec",
        names: &["-b", "-B"],
        advice: "nodes that print the same are folded by --fold",
    },
];

/// A command that this program does not have under this name.
struct ForeignCommand {
    names: &'static [&'static str],
    advice: &'static str,
}

const COMMANDS: &[ForeignCommand] = &[
    ForeignCommand {
        names: &["run", "ssh", "sh", "cmd", "shell"],
        advice: "garland exec NODES COMMAND runs it on every node; garland farm run NODES -- \
                 COMMAND ::: INPUT.. runs many jobs, each on some node",
    },
    ForeignCommand {
        names: &["copy", "put", "push", "send", "upload"],
        advice: "garland cp SOURCE NODES:PATH copies to nodes",
    },
    ForeignCommand {
        names: &["sync", "rsync", "mirror"],
        advice: "garland cp -r SOURCE NODES:PATH sends what differs; with --delete it also removes \
                 what the source does not have",
    },
    ForeignCommand {
        names: &["pull", "fetch", "collect", "gather", "download"],
        advice: "garland cp NODES:PATH DIRECTORY/ copies from nodes",
    },
];

/// Commands whose nodes are one argument, the only one.
const WITH_ONE_LIST: [&str; 8] =
    ["balance", "disk", "doctor", "down", "status", "top", "up", "wires"];

/// Returns which command to use in place of `command`, if that is known.
pub(super) fn advice_for_command(command: &str) -> Option<&'static str> {
    COMMANDS.iter().find(|it| it.names.contains(&command)).map(|it| it.advice)
}

/// Returns how to write several nodes for the command `command`, if it takes one list of them.
pub(super) fn advice_for_list(command: &str) -> Option<&'static str> {
    WITH_ONE_LIST.contains(&command).then_some("several nodes are one list: n1,n2 or 'n[1-2]'")
}

/// Returns what to write for `option` with the command `command`, if that is known.
pub(super) fn advice(command: &str, option: &str) -> Option<&'static str> {
    let is_it = |it: &&ForeignOption| it.command == command && it.names.contains(&option);
    OPTIONS.iter().find(is_it).map(|it| it.advice)
}

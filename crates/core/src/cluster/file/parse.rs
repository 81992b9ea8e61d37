use super::entries;
use super::error::{ClusterFileError, ClusterFileProblem, Fault};
use super::groups;
use crate::cluster::inventory::{
    Cluster, DEFAULT_FANOUT, Launcher, Ssh, parse_dead_after, parse_max_life,
};
use crate::cluster::listen::Listening;
use crate::form::{Section, Text, document};
use crate::units::Nanos;

impl Cluster {
    /// Parses the text of a [cluster file](crate::cluster::file). `file_name` appears in messages;
    /// its last component without `.toml` is the cluster's name if the text does not have one.
    ///
    /// # Errors
    /// [`ClusterFileError`] with the problem and its position.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, ClusterFileError> {
        read(text, file_name).map_err(|fault| fault.in_file(text, file_name))
    }
}

fn read(text: &str, file_name: &str) -> Result<Cluster, Fault> {
    let parsed = document(text, "cluster file")?;
    let keys = ["version", "launcher", "dead_after", "cluster", "agents", "nodes", "groups", "ssh"];
    let root = Section::new("the cluster file", 0..0, parsed.get_ref(), &keys)?;
    let agents = read_agents(&root)?;
    let nodes = entries::read_nodes(text, &root, &agents.listening)?;
    Ok(Cluster {
        name: name(&root, file_name)?,
        groups: groups::groups(text, &root, &nodes)?,
        nodes,
        launcher: root.word("launcher", &Launcher::ALL)?,
        dead_after: root.read("dead_after", parse_dead_after)?,
        max_life: agents.max_life,
        ssh: ssh(&root)?,
    })
}

/// What the section `[agents]` says about the agents of all nodes.
#[derive(Default)]
struct Agents {
    listening: Listening,
    max_life: Option<Nanos>,
}

fn read_agents(root: &Section<'_>) -> Result<Agents, Fault> {
    let Some(section) = root.section("agents", "[agents]", &["listen", "port", "max_life"])? else {
        return Ok(Agents::default());
    };
    let listen = section.one_or_more("listen")?;
    let listen = listen.iter().map(|text| entries::listen_at(text, text.value));
    Ok(Agents {
        listening: Listening {
            listen: listen.collect::<Result<_, _>>()?,
            port: entries::ports(&section)?,
        },
        max_life: section.read("max_life", parse_max_life)?,
    })
}

fn name(root: &Section<'_>, file_name: &str) -> Result<String, Fault> {
    let section = root.section("cluster", "[cluster]", &["name"])?;
    let given = section.map(|section| section.text("name")).transpose()?.flatten();
    let last = file_name.rsplit('/').next().unwrap_or(file_name);
    let stem = last.strip_suffix(".toml").unwrap_or(last);
    Ok(given.map_or(stem, |text| text.value).to_owned())
}

fn ssh(root: &Section<'_>) -> Result<Ssh, Fault> {
    const KEYS: &[&str] = &["user", "options", "binary", "sha256", "fanout"];
    let Some(section) = root.section("ssh", "[ssh]", KEYS)? else {
        return Ok(Ssh::default());
    };
    let word = |key| section.text(key)?.map(|text| one_word(key, text)).transpose();
    Ok(Ssh {
        user: word("user")?,
        options: section.texts("options")?.into_iter().map(|text| text.value.to_owned()).collect(),
        binary: section.text("binary")?.map(|text| text.value.to_owned()),
        sha256: section.texts("sha256")?.into_iter().map(digest).collect::<Result<_, _>>()?,
        fanout: section.integer("fanout", 1..=10_000)?.unwrap_or(DEFAULT_FANOUT),
    })
}

/// Returns the digest, or an error unless it has 64 lower-case hexadecimal digits, as `sha256sum`
/// prints them.
fn digest(text: Text<'_>) -> Result<String, Fault> {
    let digits = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if text.value.len() == 64 && digits(text.value) {
        return Ok(text.value.to_owned());
    }
    Err(text.fault(ClusterFileProblem::NoDigest(text.value.to_owned())))
}

/// Returns the value, or an error if a program could mistake it for an option or for several words.
fn one_word(key: &'static str, text: Text<'_>) -> Result<String, Fault> {
    let is_unsafe = |c: char| c.is_whitespace() || c.is_control();
    if text.value.starts_with('-') || text.value.contains(is_unsafe) {
        let found = text.value.to_owned();
        return Err(text.fault(ClusterFileProblem::Unsafe { key, found }));
    }
    Ok(text.value.to_owned())
}

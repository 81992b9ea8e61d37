//! `garland net config`: prints, writes or compares the configuration files of a real node.

use std::path::Path;

use garland_core::printable;
use garland_sys::process;
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::output;
use garland_topology::config::{ConfigFile, Format, NicNames, NodeConfig};
use garland_topology::{NodeId, Topology, scenarios};

use super::change::put;
use super::diff;
use crate::args::NetConfig;

/// Runs `garland net config` for one node or for all.
pub fn run(options: &NetConfig) -> Result<Exit, Failure> {
    let format = options.format;
    if options.install {
        return Err(installs_nothing(format));
    }
    let topology = scenarios::load(&options.topology)?;
    let names = nic_names(&options.map)?;
    if options.all {
        return all(options, &topology, format);
    }
    let chosen = node(&topology, options.node.as_deref())?;
    let config = NodeConfig::for_node(&topology, chosen, &names)?;
    let files = format.files(&topology, &config)?;
    if options.diff {
        return diff::run(&options.root, format, &files);
    }
    match &options.output_dir {
        Some(directory) => write_below(directory, &files, options.dry_run)?,
        None => print(&files),
    }
    Ok(Exit::Done)
}

/// Writes or prints the files of every node. Nothing is written unless all files can be generated.
fn all(options: &NetConfig, topology: &Topology, format: Format) -> Result<Exit, Failure> {
    let mut nodes = Vec::new();
    for (node, this) in topology.nodes.iter().enumerate() {
        let config = NodeConfig::for_node(topology, node, &NicNames::new())?;
        nodes.push((this, format.files(topology, &config)?));
    }
    for (node, files) in nodes {
        match &options.output_dir {
            Some(directory) => write_below(&directory.join(&node.name), &files, options.dry_run)?,
            None => {
                garland_terminal::outln!("##### {}", node.name);
                print(&files);
            }
        }
    }
    Ok(Exit::Done)
}

fn print(files: &[ConfigFile]) {
    for file in files {
        output::say(format_args!("### {}\n{}", file.path, file.text));
    }
}

fn write_below(directory: &Path, files: &[ConfigFile], dry_run: bool) -> Result<(), Failure> {
    for file in files {
        let path = directory.join(file.path.trim_start_matches('/'));
        if !dry_run {
            put(&path, file.over(None).as_bytes(), file.mode)?;
        }
        garland_terminal::outln!("{}", printable::path(&path));
    }
    Ok(())
}

/// Returns the failure of `--install`. Who changes the network of a machine must be able to reach
/// it when the new one does not work, and knows how; this program does not.
fn installs_nothing(format: Format) -> Failure {
    let apply = match format {
        Format::Ifupdown => "ifup -a",
        Format::Networkd => "networkctl reload",
        Format::NetworkManager => "nmcli connection reload",
    };
    Failure::usage("cannot install the files: garland net config prints, writes and compares them")
        .hint(format!(
            "with `--diff | patch -p1 -d /` instead of --install the files are changed, and \
             `{apply}` applies them"
        ))
}

/// Returns the node with the name `given`, or else the node with this machine's name.
fn node(topology: &Topology, given: Option<&str>) -> Result<NodeId, Failure> {
    let host = process::host_name();
    let short = host.split('.').next().unwrap_or(&host);
    if let Some(node) = topology.node(given.unwrap_or(short)) {
        return Ok(node);
    }
    let names: Vec<String> = topology.nodes.iter().map(|node| node.name.clone()).collect();
    let nodes = garland_core::cluster::nodelist::fold(&names);
    Err(match given {
        Some(name) => Failure::usage(format!("{} has no node {name}", topology.name))
            .hint(format!("its nodes are {nodes}")),
        None => Failure::usage(format!(
            "{} has no node with this machine's name, {short}",
            topology.name
        ))
        .hint(format!("give --node NAME or --all; its nodes are {nodes}")),
    })
}

fn nic_names(map: &[String]) -> Result<NicNames, Failure> {
    let mut names = NicNames::new();
    for pair in map {
        let (nic, name) = pair.split_once('=').ok_or_else(|| {
            Failure::usage(format!("--map {pair}: write NIC=NAME, such as eth0=enp3s0"))
        })?;
        if names.insert(nic.to_owned(), name.to_owned()).is_some() {
            return Err(Failure::usage(format!("--map names {nic} twice")));
        }
    }
    Ok(names)
}

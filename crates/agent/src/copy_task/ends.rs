//! An endpoint of a copy on an agent: a destination and the blocks that it already has, or a
//! source.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;

use garland_dataplane::block_index::{Bringing, Reuse, sink_of, sink_of_tree};
use garland_dataplane::context::buffer_count;
use garland_dataplane::source::{Content, Source, join};
use garland_dataplane::store::{
    self, KeptStore, Metadata, NoStore, Present, Store, StoreError, StorePlace,
};
use garland_protocol::copy::{Begin, Destination, End, Origin, Sink};

use crate::agent::Agent;
use crate::controller::Controller;
use crate::error::OrderError;
use crate::log::log;

/// This agent's endpoint of a copy.
pub struct Ends {
    /// The destination to which the copy's bytes are written; discards them if this agent is the
    /// source.
    pub store: Box<dyn Store>,
    /// The source; `None` at a destination.
    pub source: Option<Arc<dyn Content>>,
    /// The state of each block: whether it is present when the copy starts.
    pub sink: Sink,
    /// The blocks to copy from other files of this node, if any.
    pub bringing: Option<Bringing>,
}

impl Ends {
    /// Opens the endpoint. `tag` is part of the names of temporary files; `reuse` is the reusable
    /// data that exists at the destination.
    pub fn open(
        controller: &Controller,
        begin: &Begin,
        tag: &str,
        reuse: Option<Reuse>,
    ) -> Result<Self, OrderError> {
        let ends = match &begin.end {
            End::Source(origins) => {
                let source = Some(open_source(controller, begin, origins)?);
                let store = Box::new(NoStore);
                let sink = Sink::source(begin.layout);
                Self { store, source, sink, bringing: None }
            }
            End::Sink(destination) => Self::put(controller, begin, destination, tag, reuse)?,
        };
        Ok(match begin.part() {
            Some(part) => Self { sink: ends.sink.with_part(part), ..ends },
            None => ends,
        })
    }

    fn put(
        controller: &Controller,
        begin: &Begin,
        destination: &Destination,
        tag: &str,
        reuse: Option<Reuse>,
    ) -> Result<Self, StoreError> {
        let Controller { agent, session } = controller;
        let layout = begin.layout;
        let disk = agent.disk.as_ref();
        let removed = &session.removals.counter(destination);
        let usage = &agent.usage;
        let place = StorePlace { root: &agent.root, tag, disk, usage, log, removed };
        let create = |present| store::open(destination, layout, begin.stripe, present, &place);
        let window = || {
            let buffers = Some(begin.buffers).filter(|&buffers| buffers > 0);
            buffer_count(layout, begin.own_lanes().count(), buffers)
        };
        let (store, sink, bringing) = match (reuse, destination) {
            (
                Some(Reuse::Whole(old, digests)),
                Destination::File { mode, keeps_mode, times, fsync, .. },
            ) => {
                let metadata =
                    Metadata { mode: *mode, keeps_mode: *keeps_mode, times: *times, fsync: *fsync };
                let kept = KeptStore::new(old, metadata);
                let mut sink = Sink::new(layout, true).with_digests(digests);
                (0..layout.blocks()).for_each(|index| sink.hold(index));
                (store::on_disk(disk, kept), sink, None)
            }
            (Some(Reuse::Some { digests, others, left }), _) => {
                let (holding, left) = left.unzip();
                let (sink, bringing) = sink_of(layout, digests, others, disk, holding.as_ref());
                // Unused files must not stay locked.
                drop(holding);
                let left = left.filter(|_| sink.held() > 0);
                (create(left.map_or(Present::Nothing, Present::Left))?, sink, bringing)
            }
            (Some(Reuse::Tree { digests, tree }), _) => {
                let (sink, old) = sink_of_tree(layout, digests, tree, window());
                (create(Present::Tree(old))?, sink, None)
            }
            _ => {
                let store = create(Present::Nothing)?;
                let sink = if store.is_ordered() {
                    Sink::in_order(layout, window())
                } else {
                    Sink::new(layout, store.is_holder())
                };
                (store, sink, None)
            }
        };
        Ok(Self { store, source: None, sink, bringing })
    }
}

fn open_source(
    controller: &Controller,
    begin: &Begin,
    origins: &[Origin],
) -> Result<Arc<dyn Content>, OrderError> {
    let Controller { agent, session } = controller;
    if let [Origin { length, tree: Some(number), .. }] = origins {
        let tree = session
            .tree(*number)
            .ok_or("protocol error: the head named a tree that was not scanned")?;
        if tree.length() != *length || begin.layout.length != *length {
            return Err("protocol error: the plan and the tree have different lengths".into());
        }
        return Ok(tree);
    }
    let whole = begin.layout.length;
    let length = match begin.stripe {
        Some(stripe) => Some(stripe.length(whole)),
        // `Begin::check` has added up the lengths of several files.
        None => Some(whole).filter(|_| origins.len() == 1),
    };
    let files = origins.iter().map(|origin| open_file(agent, begin, origin, length));
    Ok(join(files.collect::<Result<_, _>>()?))
}

/// Opens a file of the source. Fails if the file has changed since the copy was planned, or if
/// `length` is given and differs from the length of the file.
fn open_file(
    agent: &Agent,
    begin: &Begin,
    origin: &Origin,
    length: Option<u64>,
) -> Result<Source, OrderError> {
    let suffix = begin.stripe.map_or_else(String::new, |stripe| stripe.suffix());
    let path = PathBuf::from(OsString::from_vec([&origin.path, suffix.as_bytes()].concat()));
    let source = Source::open_in(&agent.root, &path)?;
    let source = source.on_disk(agent.disk.as_ref()).with_stripe(begin.stripe);
    let is_same = (source.length(), source.modified()) == (origin.length, origin.modified);
    if !is_same || length.is_some_and(|length| length != origin.length) {
        return Err(format!("{} changed after the copy was planned", source.name()).into());
    }
    Ok(source)
}

//! The ends of a copy on an agent: its store, and what exists there already, or its source.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;

use garland_protocol::{Begin, Destination, End, Origin, Sink};

use crate::agent::Agent;
use crate::session::Session;
use garland_dataplane::block_index::{Bringing, Reuse, sink_of, sink_of_tree};
use garland_dataplane::context::CopyContext;
use garland_dataplane::source::{Content, Source};
use garland_dataplane::store::{self, KeptStore, Metadata, NoStore, Store, StoreError};

/// The ends of a copy.
pub struct Ends {
    /// The destination of its bytes.
    pub store: Box<dyn Store>,
    /// Its source, if this agent is one.
    pub source: Option<Arc<dyn Content>>,
    /// What is present at the start, and what is to come.
    pub sink: Sink,
    /// The blocks to be copied from other files.
    pub bringing: Option<Bringing>,
}

impl Ends {
    /// Opens the ends of the copy `tag`; `reuse` is what exists at the destination.
    pub fn open(
        agent: &Agent,
        session: &Session,
        begin: &Begin,
        tag: &str,
        reuse: Option<Reuse>,
    ) -> Result<Self, String> {
        let ends = match &begin.end {
            End::Source(origin) => {
                let source = Some(open_source(agent, session, begin, origin)?);
                let (store, sink) = (Box::new(NoStore), Sink::source(begin.layout));
                Self { store, source, sink, bringing: None }
            }
            End::Sink(destination) => Self::put(agent, begin, destination, tag, reuse)
                .map_err(|error| error.to_string())?,
        };
        Ok(match begin.part() {
            Some(part) => Self { sink: ends.sink.with_part(part), ..ends },
            None => ends,
        })
    }

    fn put(
        agent: &Agent,
        begin: &Begin,
        destination: &Destination,
        tag: &str,
        reuse: Option<Reuse>,
    ) -> Result<Self, StoreError> {
        let (root, layout, disk) = (agent.root(), begin.layout, agent.disk());
        let create =
            || store::open(destination, root, layout, begin.stripe, tag, disk, agent.usage());
        let window = || {
            let buffers = Some(begin.buffers).filter(|&buffers| buffers > 0);
            CopyContext::buffer_count(layout, begin.own_lanes().count(), buffers)
        };
        let (store, sink, bringing) = match (reuse, destination) {
            (
                Some(Reuse::Whole { folder, name, path, file, stamp, digests }),
                Destination::File { mode, times, fsync, .. },
            ) => {
                let metadata = Metadata { mode: *mode, times: *times, fsync: *fsync };
                let kept = KeptStore::new((folder, name, path), file, stamp, metadata);
                let mut sink = Sink::new(layout, true).with_digests(digests);
                (0..layout.blocks()).for_each(|index| sink.hold(index));
                (store::on_disk(disk, kept), sink, None)
            }
            (Some(Reuse::Some { digests, others, left }), _) => {
                let (holding, left) = left.unzip();
                let (sink, bringing) = sink_of(layout, digests, (others, disk), holding.as_ref());
                // Unused files must not stay locked.
                drop(holding);
                let store = match left.filter(|_| sink.held() > 0) {
                    Some(left) => store::resume(destination, root, layout, tag, disk, left),
                    None => create(),
                };
                (store?, sink, bringing)
            }
            (Some(Reuse::Tree { digests, tree }), _) => {
                let (sink, old) = sink_of_tree(layout, digests, tree, window());
                (store::refresh(destination, root, tag, disk, old)?, sink, None)
            }
            _ => {
                let store = create()?;
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
    agent: &Agent,
    session: &Session,
    begin: &Begin,
    origin: &Origin,
) -> Result<Arc<dyn Content>, String> {
    let Origin { path, length, modified, tree } = origin;
    if let Some(number) = tree {
        let tree = session.tree(*number).ok_or("a tree that wasn't looked at")?;
        if tree.length() != *length || begin.layout.length != *length {
            return Err("a tree of another length than it was seen to have".to_owned());
        }
        return Ok(tree);
    }
    let suffix = begin.stripe.map_or_else(String::new, |stripe| stripe.suffix());
    let path = PathBuf::from(OsString::from_vec([path, suffix.as_bytes()].concat()));
    let source = Source::open_in(agent.root(), &path).map_err(|error| error.to_string())?;
    let source = source.on_disk(agent.disk()).with_stripe(begin.stripe);
    let of_file = begin.stripe.map_or(begin.layout.length, |it| it.length(begin.layout.length));
    if (source.length(), source.modified()) != (*length, *modified) || *length != of_file {
        return Err(format!("{} changed since it was looked at", source.name()));
    }
    Ok(Arc::new(source))
}

//! Targets for the formats of files and of trees' streams.

/// Records of files: no input makes the parser panic, and a parsed record is written as the same
/// bytes again.
pub(crate) mod known {
    use garland_core::plan::Layout;
    use garland_protocol::copy::{FileStamp, Known};

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        // Without a valid digest at the end, every other input would be refused at once.
        let content = &bytes[..bytes.len().saturating_sub(32)];
        let digested = [content, blake3::hash(content).as_bytes()].concat();
        let mut readable = false;
        for bytes in [bytes, &digested] {
            if let Ok(known) = Known::parse(bytes) {
                assert_eq!(known.layout.blocks(), known.digests.len() as u64);
                assert_eq!(Known::parse(&known.to_bytes()), Ok(known));
                readable = true;
            }
        }
        readable
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        let modified = (1_774_000_000, 5);
        let changed = (1_774_000_001, 999_999_999);
        let record = |length: u64| {
            let layout = Layout::new(length, 4096).expect("blocks may be so small");
            let stamp = FileStamp { device: 8, inode: 4711, length, modified, changed };
            let digest = |block: u64| (block != 1).then_some([7; 32]);
            let digests = (0..layout.blocks()).map(digest).collect();
            Known { stamp, boot: [3; 16], layout, digests }.to_bytes()
        };
        [0, 4096, 10_000].map(record).to_vec()
    }
}

/// Stripe manifests: a text is a manifest that survives writing and parsing, or an error with a
/// message.
pub(crate) mod manifest {
    use garland_core::plan::{FoundStripe, Manifest, StripeSet};

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let text = crate::lossy_text(bytes);
        let mut readable = false;
        for text in [text.clone(), format!("version = 1\n{text}")] {
            match Manifest::parse(&text) {
                Ok(manifest) => {
                    assert_eq!(Manifest::parse(&manifest.to_string()), Ok(manifest.clone()));
                    let stripe = manifest.stripe();
                    let length = Some(stripe.length(manifest.stripes.length));
                    let node = "n".to_owned();
                    let suffix = stripe.suffix();
                    let found = FoundStripe { node, suffix, length, text };
                    let whole = StripeSet::assemble(&[found]).is_ok();
                    assert_eq!(whole, manifest.stripes.servers == 1);
                    readable = true;
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
        readable
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        let beginning = "set = \"0f2e4d6c8a0b1c2d3e4f5061728394a5\"\nwritten = 1774000000\n\
            name = \"model.bin\"\nsize = 10000\nmode = 0o644\nmodified = [1773000000, 5]\n\
            unit = 4096\nblock = 4096\nstripe = 1\n";
        let server = |name: &str| {
            format!("[[servers]]\nname = \"{name}\"\ndigest = \"{}\"\n", "12".repeat(32))
        };
        let one = server("io1");
        let two = server("io2");
        vec![format!("{beginning}{one}").into(), format!("{beginning}{one}{two}").into()]
    }
}

/// Entries and manifests of names for content: parsed ones are bounded, and survive writing and
/// parsing.
pub(crate) mod name {
    use garland_core::plan::Layout;
    use garland_protocol::names::{NameEntry, NameManifest, NameRecord, NamedFile};
    use garland_protocol::wire::Secret;

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let entry = NameEntry::parse(bytes);
        let manifest = NameManifest::parse(bytes).ok();
        if let Some(entry) = &entry {
            assert_eq!(NameEntry::parse(&entry.to_bytes()).as_ref(), Some(entry));
        }
        if let Some(manifest) = &manifest {
            let is_whole = |file: &NamedFile| file.layout.blocks() == file.digests.len() as u64;
            assert!(manifest.files.iter().all(is_whole));
            let (bytes, _) = manifest.encode().expect("it is short");
            assert_eq!(NameManifest::parse(&bytes).as_ref(), Ok(manifest));
        }
        entry.is_some() || manifest.is_some()
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        let file = |path: &[u8]| NamedFile {
            path: path.to_vec(),
            mode: 0o644,
            modified: (1_774_000_000, 5),
            layout: Layout::new(10_000, 4096).expect("blocks may be so small"),
            digests: vec![[7; 32]; 3],
        };
        let files = [b"a".as_slice(), b"b/c"].map(file).to_vec();
        let manifest = NameManifest { base: b"d".to_vec(), is_tree: true, files };
        let (bytes, content) = manifest.encode().expect("it is short");
        let record = NameRecord::new("llama:v3", 7, Some(content), &Secret([1; 32]));
        vec![bytes, NameEntry { record, holders: Vec::new() }.to_bytes()]
    }
}

/// Plans: a JSON text is a plan that survives writing and parsing, or an error.
pub(crate) mod plan {
    use garland_core::plan::{Layout, Plan};

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let plan = serde_json::from_slice::<Plan>(bytes);
        if let Ok(plan) = &plan {
            let text = serde_json::to_string(plan).expect("a plan is JSON");
            assert_eq!(&serde_json::from_str::<Plan>(&text).expect("its own JSON"), plan);
        }
        plan.is_ok()
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        let layout = Layout::new(1 << 20, 4096).expect("blocks may be so small");
        let names = ["n1", "n2", "n3"].map(str::to_owned);
        let plans = [Plan::broadcast(layout, &names, 2), Plan::shared(layout, &names, 3, 1)];
        let plans = plans.map(|plan| plan.expect("such plans can be"));
        plans.map(|plan| serde_json::to_vec(&plan).expect("a plan is JSON")).to_vec()
    }
}

/// Traces: input is a trace that survives writing and parsing, a trace up to a cut, or an error.
/// Input is also a parcel of sound records, or none.
pub(crate) mod trace {
    use garland_core::trace::{
        Lost, NO_BLOCK, NONE, Origin, PARCEL_MAX, Parcel, Record, Role, Span, Stage, Trace, parcels,
    };

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let trace = Trace::decode(bytes);
        let parcel = Parcel::open(bytes);
        if let Some(parcel) = &parcel {
            assert!(parcel.records.iter().all(Record::is_sound));
        }
        let readable = trace.is_ok() || parcel.is_some();
        if let Ok((trace, cut)) = trace {
            assert!(trace.records.iter().all(Record::is_sound));
            if let Some(cut) = cut {
                assert_eq!(cut.at + cut.unread, bytes.len());
            }
            assert_eq!(Trace::decode(&trace.encode()), Ok((trace, None)));
        }
        readable
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        let stage = Stage::of_number(1).expect("there is a second stage");
        let lane = 0;
        let peer = NONE;
        let operation = 0;
        let span = |begin_ns: u64| Span {
            stage,
            lane,
            peer,
            thread: 1,
            begin_ns,
            end_ns: begin_ns + 50,
            busy_ns: 50,
            bytes: 4096,
            block: NO_BLOCK,
            count: 1,
            operation,
        };
        let lost = Lost { stage, lane, peer, count: 2, busy_ns: 9, bytes: 8192 };
        let records = vec![Record::Span(span(100)), Record::Span(span(200)), Record::Lost(lost)];
        let origin = Origin {
            node: "n1".to_owned(),
            index: 1,
            role: Role::Agent,
            processors: 2,
            started_ns: 90,
            wall_ns: 1_774_000_000_000_000_000,
            copy: [1; 16],
            emulated: true,
        };
        let mut examples = parcels(&origin, &records, PARCEL_MAX);
        let whole = Trace { origin, records }.encode();
        examples.push(whole[..whole.len() - 7].to_vec());
        examples.push(whole);
        examples
    }
}

/// Streams of trees: no input makes the parser panic, or yields a name that leaves the directory.
pub(crate) mod tree {
    use garland_core::tree::{Meta, Parser, Pattern, Record, Step};

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let Some((&piece, stream)) = bytes.split_first() else { return false };
        let mut parser = Parser::default();
        let mut readable = false;
        'stream: for mut bytes in stream.chunks(usize::from(piece) + 1) {
            loop {
                match parser.step(&mut bytes) {
                    Ok(Some(Step::Record(record))) => {
                        let name = record.name().unwrap_or(b"none");
                        assert!(!name.contains(&b'/') && name != b".." && name != b".");
                        readable = true;
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(_) => break 'stream,
                }
            }
        }
        if let Ok(pattern) = Pattern::parse(stream) {
            let _ = pattern.matches(stream, piece % 2 == 0);
        }
        readable
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        let meta = || Meta { mode: 0o755, owner: (1, 2), modified: (3, 4), attributes: Vec::new() };
        let name = |name: &str| name.as_bytes().to_vec();
        let length = 3;
        let sparse = false;
        let linked = true;
        let file = Record::File { name: name("f"), meta: meta(), length, sparse, linked };
        let enter = Record::Enter { name: name("d"), meta: meta() };
        let link = Record::Link { name: name("l"), meta: meta(), target: name("../x") };
        let again = Record::Name { name: name("g"), first: vec![name("d"), name("f")] };
        let parts = [
            &Record::Top(meta()).to_bytes()[..],
            &enter.to_bytes(),
            &file.to_bytes(),
            b"abc\0",
            &Record::Leave.to_bytes(),
            &link.to_bytes(),
            &again.to_bytes(),
            &Record::Sweep.to_bytes(),
            &Record::End.to_bytes(),
        ];
        let stream = parts.concat();
        let pieces = |piece: u8| [&[piece], &stream[..]].concat();
        vec![pieces(0), pieces(255), b"a*/**/[a-z]?b".to_vec()]
    }
}

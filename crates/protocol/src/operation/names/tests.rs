use super::super::interface::{AgentEvent, Operation, Orders};
use super::*;
use crate::Message;
use crate::names::{HOLDERS_MAX, HolderKind, NameHolder, NamedContent};
use crate::wire::Secret;

static KEY: Secret = Secret([1; 32]);

/// A query of some nodes, and what they say.
struct Request(Query<'static, NamesAnswer>);

impl Request {
    fn new(nodes: usize, order: &NamesOrder) -> Self {
        let limits = vec![NAMES_PATIENCE; nodes];
        let mut query = names(&limits, order, &[], Some(&RecordKey::from_secret(&KEY)));
        query.begin(0, &mut Orders::default());
        Self(query)
    }

    fn say(&mut self, node: usize, event: NamesEvent) {
        let event = AgentEvent::Message(FromAgent::Names(event));
        self.0.handle(0, node, event, &mut Orders::default());
    }

    fn answers(self) -> Vec<Result<NamesAnswer, String>> {
        self.0.into_answers().into_values().flatten().collect()
    }
}

fn entry(name: &str, key: &Secret) -> NamesEvent {
    let record = NameRecord::new(name, 1, None, key);
    NamesEvent::Entry(Box::new(NameEntry { record, holders: Vec::new() }))
}

/// Returns the error of a keeper that says all of `events` when it is asked by `order`.
fn refused(order: &NamesOrder, events: impl IntoIterator<Item = NamesEvent>) -> String {
    let mut asked = Request::new(1, order);
    events.into_iter().for_each(|event| asked.say(0, event));
    asked.answers().remove(0).expect_err("the answer is refused")
}

#[test]
fn an_answer_in_pieces_is_put_together_and_an_endless_one_is_refused() {
    let order = NamesOrder::Digest(b"x".to_vec());
    let mut asked = Request::new(2, &order);
    asked.say(0, NamesEvent::Path(b"d/x".to_vec()));
    asked.say(0, NamesEvent::Piece(vec![1, 2], true));
    asked.say(0, NamesEvent::Piece(vec![3], false));
    for _ in 0..=NAME_MANIFEST_MAX / MANIFEST_PIECE_MAX {
        asked.say(1, NamesEvent::Piece(vec![0; MANIFEST_PIECE_MAX], true));
    }
    let answers = asked.answers();
    let first = answers[0].as_ref().expect("its pieces are complete");
    assert_eq!((first.path.as_slice(), first.manifest.as_slice()), (&b"d/x"[..], &[1, 2, 3][..]));
    assert!(answers[1].as_ref().is_err_and(|reason| reason.contains("too long")));
}

#[test]
fn hosts_and_addresses_that_a_keeper_adds_to_a_record_do_not_count() {
    let content = NamedContent { root: [3; 32], length: 1, files: 1 };
    let record = NameRecord::new("a", 1, Some(content), &KEY);
    for (kind, counted) in [(HolderKind::Origin, 0), (HolderKind::Head, 0), (HolderKind::Node, 1)] {
        let node = "http://127.0.0.1/internal/restart".to_owned();
        let holders = vec![NameHolder { node, kind, path: Vec::new() }];
        let entry = NameEntry { record: record.clone(), holders };
        for order in [NamesOrder::Find(None), NamesOrder::Find(Some("a".to_owned()))] {
            let mut asked = Request::new(1, &order);
            asked.say(0, NamesEvent::Entry(Box::new(entry.clone())));
            asked.say(0, NamesEvent::End(Ok(())));
            let answers = asked.answers();
            let answer = answers[0].as_ref().expect("it has answered");
            assert_eq!(answer.entries.len(), counted, "{kind:?}");
        }
    }
}

#[test]
fn a_manifest_goes_before_the_entry_that_it_belongs_to() {
    let order = NamesOrder::Find(None);
    let mut query = names(&[NAMES_PATIENCE], &order, &[7; MANIFEST_PIECE_MAX + 1], None);
    let mut orders = Orders::default();
    query.begin(0, &mut orders);
    let sent = orders.take();
    let kinds =
        sent.iter().map(|(_, order)| matches!(order, ToAgent::Names(NamesOrder::Piece(..))));
    assert_eq!(kinds.collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn a_keeper_that_sends_without_end_takes_no_memory() {
    let own = NamesEvent::End(Ok(()));
    // What is not signed takes none at all.
    let mut answering = Answering::default();
    let mut verified = Verified { key: Some(RecordKey::from_secret(&KEY)), known: HashMap::new() };
    let mut ends = Vec::new();
    for number in 0..NAMES_MAX + 9 {
        let forged = entry(&format!("n{number}"), &Secret([2; 32]));
        ends.extend(answering.take(forged, &Wanted::All, &mut verified));
        assert!(answering.answer.entries.is_empty() && verified.known.is_empty());
    }
    let reason = ends.remove(0).expect_err("the list has too many names");
    assert_eq!(reason, "its list has more than 10000 names");
    assert!(ends.is_empty() && answering.take(own, &Wanted::All, &mut verified).is_none());
    // Records that the controller has made, with as many holders as an entry may have.
    let NamesEvent::Entry(mut long) = entry("long", &KEY) else { unreachable!() };
    let path = vec![b'x'; 600];
    let holder =
        |at| NameHolder { node: format!("n{at}"), kind: HolderKind::Node, path: path.clone() };
    (0..HOLDERS_MAX).for_each(|at| long.add(holder(at), |_| true));
    assert!(FromAgent::Names(NamesEvent::Entry(long.clone())).to_bytes().len() > 38_000);
    let mut answering = Answering::default();
    let mut told = 0;
    let end = loop {
        let record = NameRecord::new(&format!("n{told}"), 1, None, &KEY);
        let event = NamesEvent::Entry(Box::new(NameEntry { record, ..(*long).clone() }));
        if let Some(end) = answering.take(event, &Wanted::All, &mut verified) {
            break end;
        }
        told += 1;
        let memory: usize = answering.answer.entries.values().map(NameEntry::memory).sum();
        assert!(memory <= NAMES_MEMORY_MAX, "{memory}");
    };
    assert_eq!(end.expect_err("the list is too long"), "its list takes more than 32 MiB");
    assert!(answering.answer.entries.is_empty() && told < 900, "{told}");
}

#[test]
fn an_answer_has_each_name_once_and_only_what_was_asked_for() {
    let all = NamesOrder::Find(None);
    let twice = [entry("a", &KEY), entry("b", &KEY), entry("a", &KEY)];
    assert_eq!(refused(&all, twice), "its list has a twice");
    let one = NamesOrder::Find(Some("a".to_owned()));
    assert_eq!(refused(&one, [entry("b", &KEY)]), "it told of b instead of another name");
    let two = [entry("a", &KEY), entry("b", &KEY)];
    assert_eq!(refused(&one, two), "its list has more than 1 names");
    for event in [
        NamesEvent::Piece(vec![0; 9], true),
        NamesEvent::Path(b"x".to_vec()),
        NamesEvent::Kept(Box::new(NameRecord::new("a", 1, None, &KEY))),
    ] {
        assert_eq!(refused(&all, [event]), "its answer is one to another order");
    }
    // A sound answer beside one of a stranger.
    let mut asked = Request::new(1, &all);
    for event in [entry("a", &KEY), entry("a", &Secret([2; 32])), NamesEvent::End(Ok(()))] {
        asked.say(0, event);
    }
    let answer = asked.answers().remove(0).expect("the list is sound");
    assert_eq!(answer.entries.into_keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn only_a_record_of_the_controller_is_told_to_be_valid() {
    let record = |key: &Secret| NameRecord::new("a", 9, None, key);
    let entry = NameEntry { record: record(&KEY), holders: Vec::new() };
    let order = NamesOrder::Keep(Box::new(entry), RecordKey::from_secret(&KEY));
    for (key, is_taken) in [(&KEY, true), (&Secret([2; 32]), false)] {
        let mut asked = Request::new(1, &order);
        asked.say(0, NamesEvent::Kept(Box::new(record(key))));
        let kept = asked.answers().remove(0).expect("it has answered").kept;
        assert_eq!(kept, is_taken.then(|| record(&KEY)));
    }
}

/// A second in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn an_agent_that_reads_for_long_is_waited_for_and_one_that_only_lives_is_not() {
    let order = NamesOrder::Digest(b"x".to_vec());
    let mut asked = Request::new(3, &order);
    let mut orders = Orders::default();
    for second in 1..=90 {
        let now_ns = second * SECOND_NS;
        let tell = |query: &mut Query<'static, NamesAnswer>, node, message| {
            query.handle(now_ns, node, AgentEvent::Message(message), &mut Orders::default());
        };
        // The first one reads, the second one says that it lives, and the third one stops.
        tell(&mut asked.0, 0, FromAgent::Names(NamesEvent::Reading));
        tell(&mut asked.0, 1, FromAgent::Heartbeat(Vec::new()));
        if second <= 20 {
            tell(&mut asked.0, 2, FromAgent::Names(NamesEvent::Reading));
        }
        asked.0.tick(now_ns, &mut orders);
        let answered = [0, 1, 2].map(|node| asked.0.has_answered(node));
        assert_eq!(answered, [false, second > 30, second > 50], "after {second} s");
    }
    asked.say(0, NamesEvent::Path(b"x".to_vec()));
    asked.say(0, NamesEvent::Piece(vec![1], false));
    let answers = asked.answers();
    let manifest = answers[0].as_ref().map(|answer| answer.manifest.as_slice());
    assert_eq!(manifest, Ok(&[1][..]));
    let why = answers[1].as_ref().expect_err("it is silent");
    assert_eq!(why, "it has read nothing for 30 s");
    assert_eq!(answers[2].as_ref().expect_err("it stopped"), why);
}

#[test]
fn each_agent_has_the_time_that_is_left_for_it() {
    let limits = [10, 0, 30].map(Duration::from_secs);
    let mut query = names(&limits, &NamesOrder::Find(None), &[], None);
    let mut orders = Orders::default();
    query.begin(0, &mut orders);
    // To say that it reads is no answer to this order.
    let reading = || AgentEvent::Message(FromAgent::Names(NamesEvent::Reading));
    query.handle(SECOND_NS, 2, reading(), &mut orders);
    query.tick(SECOND_NS, &mut orders);
    assert_eq!([0, 1, 2].map(|node| query.has_answered(node)), [false, true, true]);
    query.tick(11 * SECOND_NS, &mut orders);
    assert!(query.is_over());
}

//! Targets for the formats on connections.

/// More than the number of variants of any postcard enumeration here.
const KINDS: u8 = 48;

/// Returns inputs that begin like each variant of a message, with several continuations.
fn messages() -> Vec<Vec<u8>> {
    let rests: [&[u8]; 3] = [&[0; 64], &[1; 200], &[2, b'n', b'1', 0, 255, 1, 7, 7, 7, 7, 0, 3]];
    (0..KINDS).flat_map(|kind| rests.map(|rest| [&[kind], rest].concat())).collect()
}

/// Channels: an open channel returns what its peer sealed, in order, and refuses everything else,
/// however it is split.
pub(crate) mod channel {
    use garland_protocol::wire::{Channel, Handshake, Secret, Side};

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let [low, high, at, rest @ ..] = bytes else { return false };
        let (message, garbage) = rest.split_at(rest.len() * usize::from(*at) / 255);
        let (mut near, mut far) = channels();
        let mut wire = Vec::new();
        if near.sending.seal(message, &mut wire).is_err() {
            return false;
        }
        let cut = usize::from(u16::from_le_bytes([*low, *high])) % wire.len();
        let mut received = wire[..cut].to_vec();
        assert!(matches!(far.receiving.open(&mut received), Ok(None)), "a part is no message");
        received.extend(&wire[cut..]);
        received.extend(garbage);
        assert_eq!(far.receiving.open(&mut received).ok().flatten(), Some(message.to_vec()));
        assert_eq!(received, garbage);
        if let Ok(Some(forged)) = far.receiving.open(&mut received) {
            panic!("{} forged bytes were believed", forged.len());
        }
        true
    }

    fn channels() -> (Channel, Channel) {
        let secret = Secret([3; 32]);
        let shake = |side| Handshake::link(side, &secret, b"fuzz").expect("the secret is one");
        let mut near = shake(Side::Initiator);
        let mut far = shake(Side::Responder);
        far.read(&near.write(&[]).expect("its turn")).expect("the secret is the same");
        near.read(&far.write(&[]).expect("its turn")).expect("the secret is the same");
        let open = |shake: Handshake| shake.into_channel().expect("both messages went over");
        (open(near), open(far))
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        vec![b"\x05\x00\x80messages and garbage".to_vec(), vec![9; 300]]
    }
}

/// Messages of the fabric helper: input is an answer or an order that survives writing and parsing,
/// or an error.
pub(crate) mod fabric_answer {
    use std::net::Ipv4Addr;

    use garland_fabric::words::{self, Answer, Open, Order, PREFIX};

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let answer = words::message::<Answer>(bytes);
        let order = words::message::<Order>(bytes);
        let readable = answer.is_ok() || order.is_ok();
        if let Ok(answer) = answer {
            assert_eq!(words::message(&words::frame(&answer)[PREFIX..]), Ok(answer));
        }
        if let Ok(order) = order {
            assert_eq!(words::message(&words::frame(&order)[PREFIX..]), Ok(order));
        }
        readable
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        let open = Open {
            provider: "tcp".to_owned(),
            source: Some(Ipv4Addr::LOCALHOST.into()),
            sleeps: true,
            puts: false,
            depth: 8,
            ring: 1 << 20,
            largest: 4096,
        };
        let orders = [Order::List(None), Order::Open(open), Order::Settle, Order::Rest];
        let mut examples = super::messages();
        examples.extend(orders.map(|order| words::frame(&order)[PREFIX..].to_vec()));
        examples
    }
}

/// Frames: input without a valid MAC is not a frame, and every frame with one survives.
pub(crate) mod frame {
    use garland_core::plan::NodeId;
    use garland_protocol::copy::{CopyId, Encoding, FRAME_LEN, Frame, Keys, Kind};
    use garland_protocol::wire::Secret;

    const KINDS: [Kind; 7] =
        [Kind::Block, Kind::Void, Kind::End, Kind::Resume, Kind::Again, Kind::Have, Kind::Digests];

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let mut padded = [0; FRAME_LEN];
        let length = bytes.len().min(FRAME_LEN);
        padded[..length].copy_from_slice(&bytes[..length]);
        let bytes = padded;
        let copy = CopyId([1; 16]);
        let secret = Secret([7; 32]);
        let keys = Keys::new(&secret, copy);
        assert!(Frame::parse(&bytes, &keys).is_err(), "a forged frame was believed");
        let readable = Frame::claimed_copy(&bytes).is_some();
        let number = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let index = u64::from(number(4)) << 32 | u64::from(number(8));
        let kind = KINDS[usize::from(bytes[0]) % KINDS.len()];
        let mut frame = Frame::bare(kind, copy, u16::from(bytes[1]), index);
        frame.sealed = bytes[2] & 1 == 1;
        (frame.form, frame.length, frame.packed) = block(bytes[3], number(12), number(20));
        frame.sealer = NodeId(number(24));
        frame.incarnation = u64::from(number(28)) << 32 | u64::from(number(32));
        frame.bits.copy_from_slice(&bytes[28..60]);
        let mut wire = frame.to_bytes(&keys);
        assert_eq!(Frame::parse(&wire, &keys), Ok(frame));
        wire[usize::from(bytes[60]) % FRAME_LEN] ^= 1 << (bytes[61] % 8);
        assert!(Frame::parse(&wire, &keys).is_err(), "a changed frame was believed");
        readable
    }

    /// Returns an encoding, a block's length, and a possible length on the wire in that encoding.
    fn block(form: u8, length: u32, packed: u32) -> (Encoding, u32, u32) {
        let length = length.max(2);
        match form % 5 {
            0 => (Encoding::Plain, length, length),
            1 => (Encoding::Lz4, length, 1 + packed % (length - 1)),
            2 => (Encoding::Zstd, length, 1 + packed % (length - 1)),
            3 => (Encoding::Zeros, length, 0),
            _ => (Encoding::Hole, length, 0),
        }
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        let keys = Keys::new(&Secret([8; 32]), CopyId([1; 16]));
        let bare =
            |kind: &Kind| Frame::bare(*kind, CopyId([1; 16]), 1, 77).to_bytes(&keys).to_vec();
        KINDS.iter().map(bare).collect()
    }
}

/// Windows of digests: input that the source did not sign is not a window, at whatever place it is
/// received; every signed window is one.
pub(crate) mod digests {
    use garland_core::plan::{LaneBlocks, Layout};
    use garland_protocol::copy::{CopyId, DigestKey, DigestWindows, Sink};
    use garland_protocol::wire::Secret;

    const BLOCKS: u64 = 64;

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let (place, window) = bytes.split_at(bytes.len().min(8));
        let mut first = [0; 8];
        first[..place.len()].copy_from_slice(place);
        let first = u64::from_le_bytes(first);
        let lane = LaneBlocks::all(BLOCKS);
        let signer = DigestKey::Sign(Secret([7; 32]));
        let mut node = windows(&signer.to_public());
        let mut sink = Sink::new(layout(), true);
        let known = node.accept(&lane, first, window, &mut sink).is_ok();
        assert!(!known || signed().contains(&bytes.to_vec()), "a forged window was believed");
        known
    }

    fn layout() -> Layout {
        Layout::new(BLOCKS * 4096, 4096).expect("a layout that can be")
    }

    fn windows(key: &DigestKey) -> DigestWindows {
        DigestWindows::new(CopyId([1; 16]), 0, key)
    }

    /// Returns all windows that the source signed, each preceded by its ordinal.
    fn signed() -> Vec<Vec<u8>> {
        let lane = LaneBlocks::all(BLOCKS);
        let signer = DigestKey::Sign(Secret([7; 32]));
        let mut sink = Sink::source(layout());
        for index in (0..BLOCKS).filter(|index| index % 7 != 3) {
            sink.learn(index, [index as u8; 32]).expect("it is read once");
        }
        let mut source = windows(&signer);
        let mut told = 0;
        let mut signed = Vec::new();
        while let Some(window) = source.next(&lane, told, BLOCKS - 1, &sink) {
            told = window.end;
            signed.push([&window.first.to_le_bytes()[..], &window.bytes].concat());
        }
        signed
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        signed()
    }
}

/// Messages of agents: input is a message that survives writing and parsing, or none.
pub(crate) mod from_agent {
    use garland_protocol::{FromAgent, Message};

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let message = FromAgent::parse(bytes);
        if let Some(message) = &message {
            let again = message.to_bytes();
            let message = FromAgent::parse(&again).expect("a message can be read again");
            assert_eq!(message.to_bytes(), again);
        }
        message.is_some()
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        super::messages()
    }
}

/// Preambles: the first bytes are a valid preamble, or an error whose text is safe for a terminal.
/// What heads and agents of other releases say when an agent is retired.
pub(crate) mod preamble {
    use garland_protocol::wire::{PREAMBLE_LEN, Preamble, RetireReply, RetireRequest};

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let mut first = [0; PREAMBLE_LEN];
        let length = bytes.len().min(PREAMBLE_LEN);
        first[..length].copy_from_slice(&bytes[..length]);
        let mut ours = first;
        ours[..8].copy_from_slice(b"GARLAND\n");
        if let Some(request) = RetireRequest::parse(bytes) {
            assert_eq!(RetireRequest::parse(&request.to_bytes()), Some(request));
        }
        if let Some(reply) = RetireReply::parse(bytes) {
            assert!(bytes.starts_with(&reply.to_bytes()));
        }
        let mut readable = false;
        for bytes in [first, ours] {
            match Preamble::parse(&bytes) {
                Ok(preamble) => {
                    assert_eq!(Preamble::parse(&preamble.to_bytes()), Ok(preamble));
                    readable = true;
                }
                Err(error) => assert!(!error.to_string().contains(char::is_control)),
            }
        }
        readable
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        let with = |purpose: &u8| [&b"GARLAND\n\x01\x00"[..], &[*purpose], b"0.1.0"].concat();
        b"CLBPFR".iter().map(with).collect()
    }
}

/// The first bytes of a greeting: as many as are wanted are one, or an error. Only the holder of
/// the key can make those of a controller, and every one that he makes is believed.
pub(crate) mod greeting {
    use garland_protocol::copy::CopyId;
    use garland_protocol::wire::{
        Agreement, GreetingStamp, Hello, KeyPair, PREAMBLE_LEN, Preamble, Purpose, Secret, Side,
        controller_hello, member_hello,
    };

    const ID: CopyId = CopyId([5; 16]);

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let mut received = bytes;
        let keys = new_keys();
        let readable = loop {
            match Hello::wanted(received) {
                Err(_) => return false,
                Ok(length) if length > received.len() => break false,
                Ok(length) if length < received.len() => received = &received[..length],
                Ok(_) => break true,
            }
        };
        let hello = Hello::parse(received);
        assert!(!readable || hello.is_ok(), "a whole greeting is refused: {hello:?}");
        let Ok(hello) = hello else { return false };
        if let Some(mark) = hello.mark.filter(|mark| mark.is_of(&keys)) {
            let own = controller_hello(hello.preamble, &[7; 32], mark.stamp, hello.message, &keys);
            assert_eq!(received, own, "a forged greeting was believed");
        }
        let mut made = new_greeting(bytes);
        let whole = Hello::parse(&made).expect("it is a greeting");
        assert!(whole.mark.is_some_and(|mark| mark.is_of(&keys)), "it was made by the holder");
        let at = bytes.len() * 31 % (made.len() - PREAMBLE_LEN) + PREAMBLE_LEN;
        made[at] ^= 1;
        let mark = Hello::parse(&made).ok().and_then(|hello| hello.mark);
        assert!(mark.is_none_or(|mark| !mark.is_of(&keys)), "a changed greeting was believed");
        readable
    }

    fn new_keys() -> Agreement {
        let ours = KeyPair { private: Secret([3; 32]), public: [7; 32] };
        let theirs = [9; 32];
        ours.agree(Side::Initiator, &theirs).expect("the key is valid")
    }

    /// Returns a greeting of the controller, with some of these bytes as its message.
    fn new_greeting(bytes: &[u8]) -> Vec<u8> {
        let stamp = GreetingStamp { clock: [1; 8], time_ns: bytes.len() as u64 };
        let preamble = Preamble::ours(Purpose::Retire).to_bytes();
        controller_hello(&preamble, &[7; 32], stamp, &bytes[..bytes.len().min(96)], &new_keys())
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        let preamble = |purpose| Preamble::ours(purpose).to_bytes();
        let ticket = [&preamble(Purpose::Binary)[..], &[b'a'; 64]].concat();
        let link = member_hello(&preamble(Purpose::Link), ID, &[4; 48]);
        vec![new_greeting(&[3; 48]), link, ticket]
    }
}

/// Messages to agents: input is a message that survives writing and parsing, or none.
pub(crate) mod to_agent {
    use garland_protocol::{Message, ToAgent};

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let message = ToAgent::parse(bytes);
        if let Some(message) = &message {
            let again = message.to_bytes();
            let message = ToAgent::parse(&again).expect("a message can be read again");
            assert_eq!(message.to_bytes(), again);
        }
        message.is_some()
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        super::messages()
    }
}

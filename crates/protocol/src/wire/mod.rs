//! How two ends recognise each other and speak: greetings, handshakes, keys, sealed channels, and
//! sessions that outlive their connections.

mod agreement;
mod bridge_line;
mod channel;
mod curve25519;
mod delivery;
mod freshness;
mod greeting_rate;
mod hello;
mod line;
mod ready_line;
mod retirement;
mod secret;
mod shown_key;
mod version;

pub use agreement::{Agreement, GreetingStamp, Mac};
pub use bridge_line::BridgeLine;
pub use channel::{Channel, Handshake, KEY_LEN, KeyPair, PublicKey, Side, fingerprint};
pub use curve25519::exchanges_of_thread;
pub use delivery::{Delivered, Delivery, OutOfOrder, SessionId, SessionOrder};
pub use freshness::{Freshness, Greetings, Recent};
pub use greeting_rate::{GreetingRate, GreetingTimes};
pub use hello::{
    Claim, HANDSHAKE_MAX, Hello, HelloError, Mark, TICKET_LEN, controller_hello, member_hello,
    put_message,
};
pub(crate) use line::TAG;
pub use line::{ChannelError, FRAME_HEAD, Line, MAX_MESSAGE, Opener, length_behind};
pub use ready_line::ReadyLine;
pub use retirement::{RetireReply, RetireRequest};
pub use secret::Secret;
pub(crate) use secret::{aes_key, expand, make_nonce};
pub use shown_key::{CHALLENGE_LEN, KeyChallenge, ShownKey};
pub use version::{PREAMBLE_LEN, PROTOCOL, Preamble, Purpose, VersionError, claim, spoken};

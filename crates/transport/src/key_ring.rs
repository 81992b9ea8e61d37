//! What the loop that greets peers remembers: the key exchanges with those who may greet, each made
//! once, and their last greetings.

use std::collections::HashMap;

use garland_protocol::copy::CopyId;
use garland_protocol::names::CLUSTER_NODES_MAX;
use garland_protocol::wire::{
    Agreement, ChannelError, Freshness, GreetingRate, GreetingStamp, GreetingTimes, Greetings,
    Hello, KeyPair, Mac, PublicKey, Recent, Side,
};
use garland_sys::clock;

/// The maximum number of keys whose exchange is kept: all members of a cluster, and controllers.
/// Only keys that the agent knows take a place.
const KEYS_MAX: usize = CLUSTER_NODES_MAX + 1024;

/// The maximum number of greetings of links, meetings and mounts that are kept: more than the
/// agents of a copy open during it.
const SHARED_MAX: usize = 4096;

/// The maximum number of those who know a secret and whose last greetings still count.
const COUNTED_MAX: usize = 4096;

/// Who greets, if it is no stranger: the key or secret that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// The owner of this key.
    Key(PublicKey),
    /// All who know the secret of the operation with this identity.
    Secret(CopyId),
}

/// How often the owner of an identity may greet.
#[derive(Clone, Copy, Debug)]
pub struct GreetingLimit {
    /// Whose greetings are counted together: the owner of a key may have several secrets.
    pub of: Identity,
    /// How often it may greet.
    pub rate: GreetingRate,
}

/// The known keys, and their last greetings.
#[derive(Default)]
pub struct KeyRing {
    keys: HashMap<PublicKey, KnownKey>,
    /// The last greetings of those who have proved a secret. Secrets are short-lived.
    shared: Recent,
    /// When those greeted who know a secret, as far as it still counts.
    times: HashMap<Identity, GreetingTimes>,
    /// The number of greetings until now, by which the key that was used least recently is found.
    uses: u64,
}

struct KnownKey {
    agreement: Agreement,
    greetings: Greetings,
    /// When greetings came that are new, and when doubtful ones were completed.
    times: GreetingTimes,
    used: u64,
}

/// The greeting of a controller or member whose MAC is valid.
pub struct Admission {
    key: PublicKey,
    stamp: GreetingStamp,
    freshness: Freshness,
    rate: Option<GreetingRate>,
}

impl KeyRing {
    /// Checks that a greeting is of the holder of the key `theirs`, who may greet at this `rate`,
    /// and that it has not come before. This takes a hash, except for the first greeting with that
    /// key.
    ///
    /// # Errors
    /// When the greeting has no valid MAC, has come before, or may have, as too many others; and
    /// when too many were completed in a short time.
    pub fn admit(
        &mut self,
        ours: &KeyPair,
        theirs: &PublicKey,
        rate: Option<GreetingRate>,
        hello: &Hello<'_>,
    ) -> Result<(&Agreement, Admission), ChannelError> {
        let mark = hello.mark.as_ref().ok_or(ChannelError::Refused)?;
        if !self.keys.contains_key(theirs) {
            let agreement = ours.agree(Side::Responder, theirs)?;
            self.make_room();
            let greetings = Greetings::default();
            let known = KnownKey { agreement, greetings, times: GreetingTimes::default(), used: 0 };
            self.keys.insert(*theirs, known);
        }
        self.uses += 1;
        let known = self.keys.get_mut(theirs).ok_or(ChannelError::Refused)?;
        known.used = self.uses;
        if !mark.is_of(&known.agreement) {
            return Err(ChannelError::Refused);
        }
        let came_ns = clock::now_ns();
        // Not before the MAC: nobody else uses up what the owner of the key may do.
        if rate.is_some_and(|rate| !known.times.has_room(rate, came_ns)) {
            return Err(ChannelError::TooOften);
        }
        let freshness = known.greetings.judge(&mark.stamp, &mark.mac, came_ns);
        // A new one counts as it comes, since it costs a key exchange also if it is never
        // completed. A doubtful one may be a repetition, by which somebody else would use up what
        // the owner may do.
        if let Some(rate) = rate.filter(|_| freshness == Freshness::New) {
            known.times.count(rate, came_ns);
        }
        match freshness {
            Freshness::New | Freshness::Doubtful => {
                let admission = Admission { key: *theirs, stamp: mark.stamp, freshness, rate };
                Ok((&known.agreement, admission))
            }
            Freshness::Repeated => Err(ChannelError::Repeated),
            Freshness::Crowded => Err(ChannelError::Crowded),
        }
    }

    /// Notes that the peer has proved that it has its key.
    pub fn prove(&mut self, admission: &Admission) {
        if let Some(known) = self.keys.get_mut(&admission.key) {
            known.greetings.prove(&admission.stamp, admission.freshness);
            let rate = admission.rate.filter(|_| admission.freshness == Freshness::Doubtful);
            if let Some(rate) = rate {
                known.times.count(rate, clock::now_ns());
            }
        }
    }

    /// Checks that the first message of a peer that knows a secret has not come before, and that it
    /// greets no more often than within `limit`.
    ///
    /// # Errors
    /// When the message has come before ([`ChannelError::Repeated`]), or the peer greets too often
    /// ([`ChannelError::TooOften`]).
    pub fn admit_member(
        &mut self,
        message: &[u8],
        limit: Option<&GreetingLimit>,
    ) -> Result<(), ChannelError> {
        let tag: &Mac = message.last_chunk().ok_or(ChannelError::Refused)?;
        let asked_ns = clock::now_ns();
        let has_room = |limit: &GreetingLimit| {
            let times = self.times.get(&limit.of);
            times.is_none_or(|times| times.has_room(limit.rate, asked_ns))
        };
        if !limit.is_none_or(has_room) {
            return Err(ChannelError::TooOften);
        }
        if !self.shared.insert(*tag, SHARED_MAX) {
            return Err(ChannelError::Repeated);
        }
        if let Some(GreetingLimit { of, rate }) = limit {
            if self.times.len() >= COUNTED_MAX && !self.times.contains_key(of) {
                self.forget_times(asked_ns);
            }
            self.times.entry(*of).or_default().count(*rate, asked_ns);
        }
        Ok(())
    }

    /// Forgets greetings with secrets that do not count any more, or those that count least.
    fn forget_times(&mut self, now_ns: u64) {
        self.times.retain(|_, times| !times.are_over(now_ns));
        if self.times.len() >= COUNTED_MAX {
            let least = self.times.iter().min_by_key(|(_, times)| **times).map(|(of, _)| *of);
            let _ = least.and_then(|of| self.times.remove(&of));
        }
    }

    /// Forgets the key that was used least recently if there are too many.
    fn make_room(&mut self) {
        if self.keys.len() < KEYS_MAX {
            return;
        }
        let oldest = self.keys.iter().min_by_key(|(_, known)| known.used).map(|(key, _)| *key);
        let _ = oldest.and_then(|key| self.keys.remove(&key));
    }
}

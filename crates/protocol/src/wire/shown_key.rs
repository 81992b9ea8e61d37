//! How an agent shows its controller that it holds the private half of its node's key: all members
//! see the public halves, so that an agent could tell that of another node as its own.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use serde::{Deserialize, Serialize};

use crate::wire::channel::{KeyPair, PublicKey};
use crate::wire::curve25519::StaticExchange;

/// The context of proofs (BLAKE3's key derivation).
const PROOF_CONTEXT: &str = "garland 1 key of a member";

/// The length of a challenge in bytes.
pub const CHALLENGE_LEN: usize = 32;

/// Random bytes of the controller, new for each time that it asks for keys.
pub type KeyChallenge = [u8; CHALLENGE_LEN];

/// The public key of a node, and the proof that the agent which tells it has the private one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownKey {
    key: PublicKey,
    proof: [u8; 32],
}

impl ShownKey {
    /// Shows `own`, the key pair of a node, to the controller that has sent `challenge` to the
    /// agent with the public key `agent`.
    ///
    /// `None` if the controller's key is not a valid one.
    #[must_use]
    pub fn new(
        own: &KeyPair,
        controller: &PublicKey,
        agent: &PublicKey,
        challenge: &KeyChallenge,
    ) -> Option<Self> {
        let exchange = StaticExchange::new(&own.private.0, controller)?;
        let proof = prove(&exchange, &own.public, controller, agent, challenge);
        Some(Self { key: own.public, proof })
    }

    /// Returns the key if the agent with the public key `agent` has shown that it has the private
    /// one, after `controller` had sent it `challenge`.
    #[must_use]
    pub fn verified(
        &self,
        controller: &KeyPair,
        agent: &PublicKey,
        challenge: &KeyChallenge,
    ) -> Option<PublicKey> {
        let exchange = StaticExchange::new(&controller.private.0, &self.key)?;
        let wanted = prove(&exchange, &self.key, &controller.public, agent, challenge);
        verify_slices_are_equal(&wanted, &self.proof).ok().map(|()| self.key)
    }
}

/// Returns what only the holders of the node's key and of the controller's key can make. It counts
/// for this agent and this challenge alone.
fn prove(
    exchange: &StaticExchange,
    member: &PublicKey,
    controller: &PublicKey,
    agent: &PublicKey,
    challenge: &KeyChallenge,
) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(PROOF_CONTEXT);
    let _ = hasher.update(exchange.shared()).update(member).update(controller);
    let _ = hasher.update(agent).update(challenge);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_only_from_the_agent_that_has_the_private_half() {
        let [controller, agent, other, node, stranger] =
            std::array::from_fn(|_| KeyPair::generate());
        let challenge = [7; CHALLENGE_LEN];
        let shown = ShownKey::new(&node, &controller.public, &agent.public, &challenge)
            .expect("the controller's key is valid");
        let verified = |shown: &ShownKey, agent: &PublicKey, challenge| {
            shown.verified(&controller, agent, challenge)
        };
        assert_eq!(verified(&shown, &agent.public, &challenge), Some(node.public));
        assert_eq!(verified(&shown, &other.public, &challenge), None, "another agent repeats it");
        assert_eq!(verified(&shown, &agent.public, &[8; CHALLENGE_LEN]), None, "an earlier answer");
        assert_eq!(shown.verified(&stranger, &agent.public, &challenge), None);
        let pretender = KeyPair { public: node.public, ..stranger };
        let pretended = ShownKey::new(&pretender, &controller.public, &agent.public, &challenge)
            .expect("the controller's key is valid");
        assert_eq!(verified(&pretended, &agent.public, &challenge), None, "the public half alone");
        let fixed = ShownKey { key: [0; 32], ..shown };
        assert_eq!(
            verified(&fixed, &agent.public, &challenge),
            None,
            "a key that fixes the secret"
        );
    }
}

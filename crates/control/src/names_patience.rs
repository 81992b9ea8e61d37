//! How long a command waits for each agent that it asks about names, whatever it asks it and over
//! how many connections.

use std::collections::BTreeMap;
use std::time::Duration;

use garland_protocol::operation::NAMES_PATIENCE;
use garland_sys::clock;
use garland_sys::sync::Mutex;

/// The time of an answer that counts for nothing: a disk is slow, and there are many names.
const PROMPT_ANSWER_MAX: Duration = Duration::from_millis(250);

/// The rate in bytes per second at which a manifest comes and goes, if that counts for nothing.
const MANIFEST_RATE: u64 = 1 << 20;

/// The time in total that counts for nothing: an agent that is always just prompt enough, or that
/// sends what nobody needs, does not hold a command up for longer.
const PROMPT_TOTAL_MAX: Duration = Duration::from_secs(60);

/// What is left of a command's patience with each agent, which are known by the names of their
/// nodes. An agent that has used all of it is asked nothing more.
#[derive(Default)]
pub struct NamesPatience(Mutex<BTreeMap<String, Waited>>);

/// How long an agent was waited for.
#[derive(Clone, Default)]
struct Waited {
    /// The time that counts against the agent's patience.
    time: Duration,
    /// The time of prompt answers, which does not count.
    prompt: Duration,
    /// Why the agent is asked nothing more; `None` while it is asked.
    left_out: Option<String>,
}

/// How long each agent was waited for until some moment.
pub struct PatienceMark(BTreeMap<String, Waited>);

impl NamesPatience {
    /// Returns patience that asks nothing of the agents that this one asks nothing, and has waited
    /// for no other one yet: that of work in the background.
    #[must_use]
    pub fn for_background(&self) -> Self {
        let background = Self(Mutex::new(self.0.lock().clone()));
        background.begin_again();
        background
    }

    /// Forgets how long agents were waited for, but not which ones are asked nothing more.
    pub fn begin_again(&self) {
        for waited in self.0.lock().values_mut() {
            waited.time = Duration::ZERO;
            waited.prompt = Duration::ZERO;
        }
    }

    /// Returns how long each agent was waited for until now.
    pub fn mark(&self) -> PatienceMark {
        PatienceMark(self.0.lock().clone())
    }

    /// Forgets how long those agents were waited for since `mark` which took less than `limit`: a
    /// command with a long list of questions waits again for honest agents with each of them, and
    /// no longer than once for one that only delays.
    pub fn forgive_quick(&self, mark: &PatienceMark, limit: Duration) {
        for (node, waited) in self.0.lock().iter_mut() {
            let before = mark.0.get(node).cloned().unwrap_or_default();
            let took = (waited.time + waited.prompt).saturating_sub(before.time + before.prompt);
            if took < limit {
                waited.time = before.time;
                waited.prompt = before.prompt;
            }
        }
    }

    /// Returns how long a node's agent may take for its next answer.
    ///
    /// # Errors
    /// When the agent is asked nothing more; the error is the reason.
    pub fn left(&self, node: &str) -> Result<Duration, String> {
        let state = self.0.lock();
        let Some(waited) = state.get(node) else { return Ok(NAMES_PATIENCE) };
        match &waited.left_out {
            Some(reason) => Err(reason.clone()),
            None => Ok(NAMES_PATIENCE.saturating_sub(waited.time)),
        }
    }

    /// Has the command ask a node's agent nothing more about names. Returns whether it did before.
    pub fn leave_out(&self, node: &str, reason: &str) -> bool {
        let mut state = self.0.lock();
        let waited = state.entry(node.to_owned()).or_default();
        let did_ask = waited.left_out.is_none();
        let _ = waited.left_out.get_or_insert_with(|| reason.to_owned());
        did_ask
    }

    /// Does what waits for a node's agent, such as to connect to it, unless that is asked nothing
    /// more. Returns its result.
    ///
    /// # Errors
    /// When the agent is asked nothing more, or the work fails.
    pub fn wait<T>(
        &self,
        node: &str,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let _ = self.left(node)?;
        let began_ns = clock::now_ns();
        let result = work();
        let took = Duration::from_nanos(clock::now_ns().saturating_sub(began_ns));
        let _ = self.charge(node, took, 0);
        result
    }

    /// Notes that a node's agent was waited for, while `moved` bytes were sent or came. Returns why
    /// it is asked nothing more, if that was too long.
    pub(crate) fn charge(&self, node: &str, took: Duration, moved: usize) -> Option<String> {
        let moving = Duration::from_millis(moved as u64 * 1000 / MANIFEST_RATE);
        let mut state = self.0.lock();
        let waited = state.entry(node.to_owned()).or_default();
        let prompt_left = PROMPT_TOTAL_MAX.saturating_sub(waited.prompt);
        let prompt = took.min(PROMPT_ANSWER_MAX + moving).min(prompt_left);
        waited.prompt += prompt;
        waited.time += took - prompt;
        let seconds = NAMES_PATIENCE.as_secs();
        (waited.time >= NAMES_PATIENCE)
            .then(|| format!("its answers about names took more than {seconds} s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_one_time_for_all_that_a_command_asks_it() {
        let patience = NamesPatience::default();
        let second = Duration::from_secs(1);
        assert_eq!(patience.left("a"), Ok(NAMES_PATIENCE));
        assert_eq!(patience.charge("a", PROMPT_ANSWER_MAX, 0), None);
        assert_eq!(patience.charge("a", 3 * second, 3 << 20), None);
        assert_eq!(patience.left("a"), Ok(NAMES_PATIENCE), "what is prompt counts for nothing");
        assert_eq!(patience.charge("a", 29 * second + PROMPT_ANSWER_MAX, 0), None);
        assert_eq!((patience.left("a"), patience.left("b")), (Ok(second), Ok(NAMES_PATIENCE)));
        let why = patience.charge("a", second + PROMPT_ANSWER_MAX, 0).expect("its time is used");
        assert!(patience.leave_out("a", &why) && !patience.leave_out("a", "another reason"));
        assert_eq!(patience.left("a"), Err(why.clone()));
        assert_eq!(
            patience.wait("a", || -> Result<(), String> { panic!("it is asked") }),
            Err(why)
        );
        assert_eq!(patience.wait("b", || Ok(7)), Ok(7));
    }

    #[test]
    fn an_honest_agent_on_a_slow_disk_is_charged_only_what_exceeds_promptness() {
        let patience = NamesPatience::default();
        let slow = PROMPT_ANSWER_MAX + Duration::from_millis(50);
        for answer in 1..=200 {
            assert_eq!(patience.charge("a", slow, 0), None, "at answer {answer}");
        }
    }

    #[test]
    fn an_agent_that_is_always_just_prompt_enough_is_left_out() {
        for moved in [0, 24 << 20] {
            let patience = NamesPatience::default();
            let each =
                PROMPT_ANSWER_MAX + Duration::from_millis(moved as u64 * 1000 / MANIFEST_RATE);
            let mut whole = Duration::ZERO;
            while patience.charge("a", each, moved).is_none() {
                whole += each;
                assert!(whole < PROMPT_TOTAL_MAX + NAMES_PATIENCE, "{moved} bytes: {whole:?}");
            }
        }
    }

    #[test]
    fn one_that_delays_is_not_waited_for_again_with_each_question() {
        let patience = NamesPatience::default();
        let limit = Duration::from_secs(5);
        let question = |hostile: Duration| {
            let mark = patience.mark();
            assert_eq!(patience.charge("honest", Duration::from_secs(4), 0), None);
            let ended = patience.charge("hostile", hostile, 0);
            patience.forgive_quick(&mark, limit);
            ended.is_some()
        };
        // Answers at once in between do not help it.
        let delay = Duration::from_secs(15) + PROMPT_ANSWER_MAX;
        let mut delays = [delay, Duration::ZERO].into_iter().cycle();
        let left_out = (1..100).find(|_| question(delays.next().expect("it is endless")));
        assert_eq!(left_out, Some(3));
        // One slow answer of an honest one is held against it, and no later quick ones.
        assert_eq!(patience.charge("honest", Duration::from_secs(20), 0), None);
        for _ in 0..100 {
            let _ = question(Duration::ZERO);
        }
    }

    #[test]
    fn work_in_the_background_uses_no_time_of_the_command() {
        let patience = NamesPatience::default();
        assert!(patience.leave_out("a", "it is silent"));
        assert_eq!(patience.charge("b", Duration::from_secs(20) + PROMPT_ANSWER_MAX, 0), None);
        let background = patience.for_background();
        assert_eq!(background.left("a"), Err("it is silent".to_owned()));
        assert_eq!(background.charge("b", Duration::from_secs(20), 0), None);
        background.begin_again();
        assert_eq!(background.left("b"), Ok(NAMES_PATIENCE));
        assert_eq!(patience.left("b"), Ok(Duration::from_secs(10)));
    }
}

//! Surveys of the network by order of the head: the NICs of a node, the nodes that each NIC
//! reaches, and the size of packets that pass.

mod mtu;
mod nics;
mod probe;
mod probing;
mod rate;
mod responder;

use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use garland_protocol::{FromAgent, SurveyAnswer, SurveyOrder};
use garland_sys::threads;

use crate::session::Session;
use garland_sys::error::reason;
use responder::Responder;

/// The surveys of one controller. Dropping it ends them.
pub struct Surveyor {
    session: Arc<Session>,
    responder: Arc<Mutex<Option<Responder>>>,
    working: Option<JoinHandle<()>>,
}

impl Surveyor {
    /// Creates a surveyor for the controller of `session`.
    pub fn new(session: &Arc<Session>) -> Self {
        Self { session: Arc::clone(session), responder: Arc::default(), working: None }
    }

    /// Executes an order; the answer is sent to the controller when it is ready. Orders are
    /// executed in sequence, each in a bounded time.
    pub fn obey(&mut self, order: SurveyOrder) {
        self.wait();
        let (session, responder) = (Arc::clone(&self.session), Arc::clone(&self.responder));
        let working = threads::spawn("survey", move || {
            let answer = answer(order, &responder);
            let answer = answer.unwrap_or_else(|error| SurveyAnswer::Failed(reason(&error)));
            session.send(&FromAgent::Surveyed(answer));
        });
        match working {
            Ok(working) => self.working = Some(working),
            Err(error) => {
                let failed = SurveyAnswer::Failed(reason(&error));
                self.session.send(&FromAgent::Surveyed(failed));
            }
        }
    }

    fn wait(&mut self) {
        if let Some(working) = self.working.take() {
            // A panic has been printed already.
            let _ = working.join();
        }
    }
}

impl Drop for Surveyor {
    fn drop(&mut self) {
        self.wait();
    }
}

fn answer(order: SurveyOrder, responder: &Mutex<Option<Responder>>) -> io::Result<SurveyAnswer> {
    let mut responder = responder.lock();
    match order {
        SurveyOrder::Open => {
            let opened = Responder::open()?;
            let (udp, tcp) = opened.ports();
            *responder = Some(opened);
            Ok(SurveyAnswer::Open(nics::facts()?, udp, tcp))
        }
        SurveyOrder::Frames(token, node) => probing::frames(token, node),
        SurveyOrder::Datagrams(token, node, port) => probing::datagrams(token, node, port),
        SurveyOrder::Mtu(probes) => mtu::find(&probes).map(SurveyAnswer::Mtu),
        SurveyOrder::Rate { nic, to, millis } => rate::send(&nic, to, millis),
        SurveyOrder::Burst { to, number, count } => {
            responder::burst(to, number, count).map(SurveyAnswer::Sent)
        }
        SurveyOrder::Counts(number) => {
            let arrived = responder.as_mut().map_or(0, |responder| responder.take(number));
            Ok(SurveyAnswer::Counts(nics::sent()?, arrived))
        }
    }
}

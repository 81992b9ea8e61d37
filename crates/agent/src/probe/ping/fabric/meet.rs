//! How both sides come to one provider, and to know each other's endpoint.

use std::io::Write;
use std::net::{IpAddr, TcpStream};

use garland_fabric::words::{self, Answer, ORDER_MAX, Open, Opened, Order, PREFIX};
use garland_protocol::check_provider;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::round::{broken, read};
use super::{Fabric, child};

impl Fabric<'_> {
    /// The best provider that both have and that reaches other machines: this one's order counts
    /// where it initiates.
    pub(super) fn agree(
        &mut self,
        initiates: bool,
        source: Option<IpAddr>,
    ) -> Result<String, String> {
        let Answer::Providers(ours) = self.ask(&Order::List(source))? else {
            return Err(child::out_of_turn());
        };
        if !initiates {
            self.say(&ours)?;
            let chosen: String = self.hear()?;
            return check_provider(&chosen).map(|()| chosen);
        }
        let theirs: Vec<String> = self.hear()?;
        let both = ours.iter().find(|name| theirs.contains(name) && !words::is_local(name));
        let chosen = both.ok_or_else(|| {
            let list = |names: &[String]| names.join(", ");
            format!(
                "no provider of libfabric's is on both nodes: here are {}, there {}",
                list(&ours),
                list(&theirs)
            )
        })?;
        self.say(chosen)?;
        Ok(chosen.clone())
    }

    /// Opens an endpoint, and lets it know the other side's; both.
    pub(super) fn open(&mut self, wish: Open) -> Result<(Opened, Opened), String> {
        let Answer::Opened(ours) = self.ask(&Order::Open(wish))? else {
            return Err(child::out_of_turn());
        };
        self.say(&ours)?;
        let theirs: Opened = self.hear()?;
        match self.ask(&Order::Meet(theirs.peer.clone()))? {
            Answer::Done => Ok((ours, theirs)),
            _ => Err(child::out_of_turn()),
        }
    }

    /// Tells the other agent.
    pub(super) fn say(&self, what: &impl Serialize) -> Result<(), String> {
        let mut stream: &TcpStream = self.stream;
        stream.write_all(&words::frame(what)).map_err(|error| broken(&error))
    }

    /// Hears what the other agent tells.
    pub(super) fn hear<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        self.helper.wait_for_other(self.place, self.stream)?;
        let wrong = |what: String| format!("the other agent: {what}");
        let mut prefix = [0; PREFIX];
        read(self.place, self.stream, &mut prefix)?;
        let mut bytes = vec![0; words::length(prefix, ORDER_MAX).map_err(wrong)?];
        read(self.place, self.stream, &mut bytes)?;
        words::message(&bytes).map_err(wrong)
    }
}

//! A helper process, and the connection to the other agent, which has a helper of its own.

use std::io::Write;
use std::net::TcpStream;

use garland_fabric::words::{self, Answer, ORDER_MAX, Order, PREFIX};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::round::{broken, read};
use super::child::Helper;
use crate::probe::meeting_state::MeetingState;

/// One side of a meeting that measures a fabric.
pub struct FabricSession<'a> {
    meeting: &'a MeetingState,
    stream: &'a TcpStream,
    helper: Helper,
    /// The serial number of the last round.
    serial: u32,
}

impl<'a> FabricSession<'a> {
    /// Starts the helper.
    pub fn start(meeting: &'a MeetingState, stream: &'a TcpStream) -> Result<Self, String> {
        Ok(Self { meeting, stream, helper: Helper::start(meeting, stream)?, serial: 0 })
    }

    /// Returns the serial number of the next round.
    pub fn next_serial(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    /// Sends an order to the helper and waits for its answer.
    pub fn ask(&mut self, order: &Order) -> Result<Answer, String> {
        self.helper.ask(order, self.meeting, self.stream)
    }

    /// Sends a message to the other agent.
    pub fn send(&self, message: &impl Serialize) -> Result<(), String> {
        let mut stream: &TcpStream = self.stream;
        stream.write_all(&words::frame(message)).map_err(|error| broken(&error))
    }

    /// Receives a message from the other agent.
    pub fn receive<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        self.helper.wait_for_other(self.meeting, self.stream)?;
        let wrong = |what: String| format!("protocol error: the other agent: {what}");
        let mut prefix = [0; PREFIX];
        read(self.meeting, self.stream, &mut prefix)?;
        let mut bytes = vec![0; words::length(prefix, ORDER_MAX).map_err(wrong)?];
        read(self.meeting, self.stream, &mut bytes)?;
        words::message(&bytes).map_err(wrong)
    }
}

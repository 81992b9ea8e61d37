//! Drives a headless Chromium over two pipes with the DevTools protocol: JSON messages, each
//! followed by a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::scratch::Scratch;
use crate::waiting::until;

/// A browser with one page. Its process is killed when this value is dropped.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
    /// The events that the browser has sent so far, in order.
    pub events: Vec<Value>,
}

/// A position of the page, in pixels from its left and its top.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// The pixels from the left.
    pub x: f64,
    /// The pixels from the top.
    pub y: f64,
}

impl Browser {
    /// Starts a browser whose page has this width and height, in pixels.
    ///
    /// # Panics
    /// When chromium cannot be started or does not answer.
    #[must_use]
    pub fn start(scratch: &Scratch, width: u32, height: u32) -> Self {
        let profile = scratch.path("profile");
        let words = format!(
            "exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
             --disable-breakpad --no-first-run --disable-extensions --disable-background-networking \
             --disable-component-update --disable-sync --user-data-dir='{}' \
             --window-size={width},{height} --remote-debugging-pipe 3<&0 4>&1 0</dev/null 1>/dev/null",
            profile.display()
        );
        let mut child = Command::new("sh")
            .args(["-c", &words])
            .env("HOME", scratch.folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromium can be started: see xtask/src/ci/packages.rs");
        let to = child.stdin.take().expect("piped");
        let from = BufReader::new(child.stdout.take().expect("piped"));
        let mut browser = Self { child, to, from, session: None, last: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Runtime", "Log", "Network", "Page"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Opens the report in `file`, and waits until its scripts have drawn it.
    ///
    /// # Panics
    /// When the report is not drawn within 30 s, or the browser does not answer.
    pub fn open(&mut self, file: &Path) {
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        let drawn = "new Promise((done) => { const end = Date.now() + 30000; const look = () => { \
             const drawn = Boolean(document.documentElement?.dataset.drawn); \
             if (drawn || Date.now() > end) done(drawn); else setTimeout(look, 20); }; look(); })";
        assert_eq!(self.asked(drawn), true, "it is drawn: {:?}", self.complaints());
    }

    /// Evaluates a JavaScript expression in the page and returns its value. If the value is a
    /// promise, waits for its result.
    ///
    /// # Panics
    /// When the expression throws, or the browser does not answer.
    pub fn asked(&mut self, expression: &str) -> Value {
        let words =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", words);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer:#}");
        answer["result"]["value"].clone()
    }

    /// Moves the mouse to the position `x`, `y` of the page, in pixels.
    pub fn point(&mut self, x: f64, y: f64) {
        self.mouse("mouseMoved", Position { x, y }, 0);
    }

    /// Drags the mouse from one position of the page to another.
    pub fn drag(&mut self, from: Position, to: Position) {
        self.mouse("mouseMoved", from, 0);
        self.mouse("mousePressed", from, 1);
        self.mouse("mouseMoved", to, 1);
        self.mouse("mouseReleased", to, 0);
    }

    fn mouse(&mut self, kind: &str, at: Position, buttons: u32) {
        let button = if kind == "mouseMoved" && buttons == 0 { "none" } else { "left" };
        let event = json!({ "type": kind, "x": at.x, "y": at.y, "button": button, "buttons": buttons, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Shows the page in dark mode if `dark`, otherwise in light mode.
    pub fn in_the_dark(&mut self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let feature = json!({ "name": "prefers-color-scheme", "value": value });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// Returns the part of the page at `left` and `top` as a PNG, in pixels.
    ///
    /// # Panics
    /// When the browser returns no picture.
    #[must_use]
    pub fn picture(&mut self, left: f64, top: f64, width: f64, height: f64) -> Vec<u8> {
        let clip = json!({ "x": left, "y": top, "width": width, "height": height, "scale": 1 });
        let words = json!({ "format": "png", "clip": clip, "captureBeyondViewport": true });
        let told = self.call("Page.captureScreenshot", words);
        of_base64(told["data"].as_str().expect("a picture"))
    }

    /// Presses and releases a key: one that types the text `key`, or one with this name, such as
    /// `ArrowDown`.
    pub fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "text": text }));
        }
    }

    /// Calls a method of the DevTools protocol and returns its result. Events that arrive meanwhile
    /// are added to `events`.
    ///
    /// # Panics
    /// When the browser reports an error, or has ended.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let mut bytes = Vec::new();
            let count = self.from.read_until(0, &mut bytes).expect("the browser answers");
            assert!(count > 0, "{method}: the browser has ended");
            bytes.pop();
            let answer: Value = serde_json::from_slice(&bytes).expect("an answer is JSON");
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Returns what a report must not cause: errors and console output of the page, and network
    /// requests.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let complaint = |event: &Value| {
            let told = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(told["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" => Some(told["args"].to_string()),
                "Log.entryAdded" => Some(told["entry"].to_string()),
                "Network.requestWillBeSent" => {
                    let url = told["request"]["url"].as_str()?;
                    let own = url.starts_with("file:") && told["type"] == "Document";
                    let none = own || url.starts_with("data:") || url == "about:blank";
                    (!none).then(|| format!("asked for {url}"))
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(complaint).collect()
    }
}

impl Browser {
    /// Closes the browser, and waits until all processes of its test have ended.
    pub fn end(mut self, scratch: &Scratch) {
        self.session = None;
        self.call("Browser.close", json!({}));
        until("the browser's end", || {
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            ended && scratch.processes().is_empty()
        });
    }
}

/// Decodes base 64.
fn of_base64(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bits = 0_u32;
    let mut known = 0;
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for six in text.bytes().filter_map(value) {
        bits = bits << 6 | u32::from(six);
        known += 6;
        if known >= 8 {
            known -= 8;
            bytes.push((bits >> known & 0xff) as u8);
        }
    }
    bytes
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Killing the browser fails if it has exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::of_base64;

    #[test]
    fn pictures_come_as_text() {
        assert_eq!(of_base64("R2FybGFuZA=="), b"Garland");
        assert_eq!(of_base64("/+8="), [0xff, 0xef]);
    }
}

//! Chromium without a screen, spoken to over two pipes (the DevTools protocol: JSON, each message ended
//! by a zero byte).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use garland_testkit::{Scratch, until};
use serde_json::{Value, json};

/// A browser with one page. It is killed when it is dropped.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
    /// All that it has told unasked.
    pub events: Vec<Value>,
}

impl Browser {
    /// Starts one whose page has this size in pixels.
    pub fn start(scratch: &Scratch, (width, height): (u32, u32)) -> Self {
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
        let (to, from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let from = BufReader::new(from);
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

    /// Opens a file, and waits until its scripts have drawn it.
    pub fn open(&mut self, file: &Path) {
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        let drawn = "new Promise((done) => { const look = () => \
             document.documentElement?.dataset.drawn ? done(true) : setTimeout(look, 20); look(); })";
        assert_eq!(self.asked(drawn), true);
    }

    /// What an expression in the page comes to; a promise is waited for.
    pub fn asked(&mut self, expression: &str) -> Value {
        let words =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", words);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer:#}");
        answer["result"]["value"].clone()
    }

    /// Moves the mouse.
    pub fn point(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// Presses and releases a key that has a text.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "text": key }));
        }
    }

    /// Calls a method; its result.
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

    /// What has gone wrong in the page, and what it has asked the network for.
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
    /// Ends it, with all its processes.
    pub fn end(mut self, scratch: &Scratch) {
        self.session = None;
        self.call("Browser.close", json!({}));
        until("the browser's end", || {
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            ended && scratch.processes().is_empty()
        });
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // One that was ended is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

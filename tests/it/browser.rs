//! A headless Chromium, told what to do over its DevTools pipe: file descriptors 3 and 4, JSON with a zero byte
//! behind each message. That needs no port and no driver.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

/// The names that Chromium goes by.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    last: u64,
    /// Messages of the page's console, exceptions and refusals of the security policy.
    pub complaints: Vec<String>,
    /// Addresses of everything that the page asked for.
    pub requests: Vec<String>,
    /// Texts of dialogs that scripts opened.
    pub dialogs: Vec<String>,
    _profile: tempfile::TempDir,
}

fn program() -> Option<&'static str> {
    PROGRAMS.into_iter().find(|program| {
        let found =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    })
}

impl Browser {
    /// Starts a browser; `None`, said loudly, where there is none. `make test` installs it where it may, and in CI
    /// it must be there.
    pub fn start() -> Option<Self> {
        let Some(program) = program() else {
            assert!(std::env::var_os("CI").is_none(), "no Chromium: apt-get install chromium");
            eprintln!("SKIPPED: no Chromium on this machine (Debian: apt-get install chromium)");
            return None;
        };
        let profile = tempfile::tempdir().expect("profile");
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", program])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-extensions", "--disable-background-networking"])
            .args([
                "--disable-component-update",
                "--disable-sync",
                "--hide-scrollbars",
                "--force-color-profile=srgb",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(["--remote-debugging-pipe", "about:blank"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh");
        let (to, from) = (child.stdin.take().expect("pipe"), child.stdout.take().expect("pipe"));
        let mut browser = Self {
            child,
            to,
            from: BufReader::new(from),
            session: String::new(),
            last: 0,
            complaints: Vec::new(),
            requests: Vec::new(),
            dialogs: Vec::new(),
            _profile: profile,
        };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.ask("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Sends a command and waits for its answer.
    fn ask(&mut self, method: &str, params: Json) -> Json {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        self.to.write_all(message.to_string().as_bytes()).expect("the browser listens");
        self.to.write_all(&[0]).expect("the browser listens");
        self.to.flush().expect("the browser listens");
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).expect("the browser answers");
            assert!(bytes.pop().is_some(), "the browser has ended");
            let message: Json = serde_json::from_slice(&bytes).expect("JSON");
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, event: &Json) {
        let params = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => self.complaints.push(params["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" => self.complaints.push(params["args"].to_string()),
            "Log.entryAdded" => self.complaints.push(params["entry"].to_string()),
            "Network.requestWillBeSent" => {
                self.requests.push(params["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            "Page.javascriptDialogOpening" => self.dialogs.push(params["message"].to_string()),
            _ => {}
        }
    }

    /// The size of the window, in CSS pixels; `phone` as a phone shows it.
    pub fn resize(&mut self, width: u32, height: u32, phone: bool) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone});
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// What the system prefers: `light` or `dark`.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.ask("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Opens an address.
    pub fn open(&mut self, address: &str) {
        let answer = self.ask("Page.navigate", json!({"url": address}));
        assert!(answer["errorText"].is_null(), "{address}: {}", answer["errorText"]);
    }

    /// The value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Json {
        self.attempt(expression).unwrap_or_else(|what| panic!("{expression}: {what}"))
    }

    fn attempt(&mut self, expression: &str) -> Result<Json, String> {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.ask("Runtime.evaluate", params);
        match &answer["exceptionDetails"] {
            Json::Null => Ok(answer["result"]["value"].clone()),
            exception => Err(exception.to_string()),
        }
    }

    /// Waits until an expression is true; one that fails may only be too early, while the page is being loaded.
    pub fn wait_for(&mut self, expression: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let value = self.attempt(expression);
            if value == Ok(Json::Bool(true)) {
                return;
            }
            if deadline < Instant::now() {
                let state = self.attempt("[document.readyState, location.href, document.body?.innerText]");
                panic!("never true: {expression}: {value:?}; {:?}; {state:?}", self.complaints);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A picture of the window, as PNG.
    pub fn screenshot(&mut self) -> Vec<u8> {
        use base64::Engine as _;
        let answer = self.ask("Page.captureScreenshot", json!({"format": "png", "optimizeForSpeed": false}));
        let text = answer["data"].as_str().expect("a picture");
        base64::engine::general_purpose::STANDARD.decode(text).expect("base64")
    }

    /// Fails if the page complained, asked for anything outside of `origin`, or opened a dialog.
    pub fn assert_quiet(&mut self, origin: &str) {
        // Events that came before this answer are noted.
        self.evaluate("0");
        assert!(self.complaints.is_empty(), "{:#?}", self.complaints);
        assert!(self.dialogs.is_empty(), "{:?}", self.dialogs);
        let outside: Vec<_> = self.requests.iter().filter(|url| !url.starts_with(origin)).collect();
        assert!(outside.is_empty(), "{outside:?}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A page of a browser.

use crate::connection::{Connection, Events};
use crate::{BrowserError, TIMEOUT};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The screen that a page is shown on.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// True if the system prefers a dark colour scheme.
    pub is_dark: bool,
    /// True if the device is a phone.
    pub is_phone: bool,
}

impl Screen {
    /// A desktop, 1,280 pixels wide.
    pub const DESKTOP: Screen = Screen { width: 1280, height: 900, is_dark: false, is_phone: false };
    /// A phone, 390 pixels wide.
    pub const PHONE: Screen = Screen { width: 390, height: 844, is_dark: false, is_phone: true };

    /// Returns the screen with a dark colour scheme.
    #[must_use]
    pub fn dark(self) -> Screen {
        Screen { is_dark: true, ..self }
    }
}

/// A page.
pub struct Page {
    connection: Arc<Connection>,
    session: String,
    events: Events,
}

impl Page {
    pub(crate) fn open(connection: Arc<Connection>, screen: &Screen) -> Result<Page, BrowserError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let target = connection.call("Target.createTarget", json!({"url": "about:blank"}), None)?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = text(&connection.call("Target.attachToTarget", attach, None)?["sessionId"]);
        let events = connection.subscribe(&session);
        let page = Page { connection, session, events };
        for domain in ["Page.enable", "Runtime.enable", "Log.enable", "Network.enable"] {
            page.call(domain, json!({}))?;
        }
        page.show_on(screen)?;
        Ok(page)
    }

    /// Shows the page on another screen.
    ///
    /// # Errors
    /// If the browser does not answer, as with every function here.
    pub fn show_on(&self, screen: &Screen) -> Result<(), BrowserError> {
        let metrics = json!({
            "width": screen.width, "height": screen.height, "deviceScaleFactor": 1, "mobile": screen.is_phone,
        });
        self.call("Emulation.setDeviceMetricsOverride", metrics)?;
        let scheme = if screen.is_dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", media)?;
        Ok(())
    }

    /// Goes to an address, and waits until its document and everything in it have loaded.
    ///
    /// # Errors
    /// If the address cannot be reached.
    pub fn go(&self, address: &str) -> Result<(), BrowserError> {
        self.events.wait_after("Page.loadEventFired", || {
            let navigated = self.call("Page.navigate", json!({"url": address}))?;
            match navigated["errorText"].as_str().filter(|message| !message.is_empty()) {
                Some(message) => {
                    Err(BrowserError::Refused { method: address.to_owned(), message: message.to_owned() })
                }
                None => Ok(()),
            }
        })
    }

    /// Runs a script on each later page before the scripts of the page.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn before_scripts(&self, script: &str) -> Result<(), BrowserError> {
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": script})).map(|_| ())
    }

    /// Runs a script. Returns its value; the value of a promise is awaited.
    ///
    /// # Errors
    /// If the script fails.
    pub fn run(&self, script: &str) -> Result<Value, BrowserError> {
        let parameters = json!({"expression": script, "awaitPromise": true, "returnByValue": true});
        let mut ran = self.call("Runtime.evaluate", parameters)?;
        if let Some(failure) = ran.get("exceptionDetails") {
            let text = failure["exception"]["description"].as_str().or(failure["text"].as_str());
            return Err(BrowserError::Script(format!("{}\n{script}", text.unwrap_or_default())));
        }
        Ok(ran["result"]["value"].take())
    }

    /// Runs a script. Returns its value if that is text, and an empty text otherwise.
    ///
    /// # Errors
    /// If the script fails.
    pub fn text(&self, script: &str) -> Result<String, BrowserError> {
        Ok(self.run(script)?.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until an expression is true, also on a page that this one navigates to.
    ///
    /// # Errors
    /// If the expression does not become true in time, or fails.
    pub fn wait_for(&self, condition: &str) -> Result<(), BrowserError> {
        let until = Instant::now() + TIMEOUT;
        let milliseconds = TIMEOUT.as_millis();
        let script = format!(
            "new Promise((resolve) => {{
               const until = performance.now() + {milliseconds};
               const look = () => {{
                 if ({condition}) resolve(true);
                 else if (performance.now() > until) resolve(false);
                 else setTimeout(look, 20);
               }};
               look();
             }})"
        );
        loop {
            match self.run(&script) {
                Ok(Value::Bool(true)) => return Ok(()),
                // The page was left in the meantime.
                Err(BrowserError::Refused { .. }) if Instant::now() < until => {}
                Ok(_) => {
                    let seen = self.text("document.body.innerText").unwrap_or_default();
                    let seen: String = seen.chars().take(2_000).collect();
                    return Err(BrowserError::Timeout(format!(
                        "the wait until {condition}; it shows: {seen}"
                    )));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Presses a key as a person does: `j`, `/`, `Enter`, `Escape`, `ArrowDown`, `Tab`.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn press(&self, key: &str) -> Result<(), BrowserError> {
        let (code, text) = match key {
            "Enter" => (13, Some("\r")),
            "Escape" => (27, None),
            "Tab" => (9, None),
            "End" => (35, None),
            "Home" => (36, None),
            "ArrowUp" => (38, None),
            "ArrowDown" => (40, None),
            "PageUp" => (33, None),
            "PageDown" => (34, None),
            _ => (0, Some(key)),
        };
        let mut down = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code});
        if let Some(text) = text {
            down["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", down)?;
        self.call(
            "Input.dispatchKeyEvent",
            json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}),
        )?;
        Ok(())
    }

    /// Types text into the focused element.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn type_text(&self, text: &str) -> Result<(), BrowserError> {
        self.call("Input.insertText", json!({"text": text})).map(|_| ())
    }

    /// Takes the console messages, errors and network requests since the last call, each as one line: `error …`, `request …`.
    pub fn take_log(&self) -> Vec<String> {
        let line = |event: Value| {
            let parameters = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => {
                    let details = &parameters["exceptionDetails"];
                    Some(format!("error {} {}", details["text"], details["exception"]["description"]))
                }
                "Runtime.consoleAPICalled" => Some(format!("console {}", parameters["args"])),
                "Log.entryAdded" => Some(format!("log {}", parameters["entry"]["text"])),
                "Network.requestWillBeSent" => {
                    Some(format!("request {}", parameters["request"]["url"].as_str().unwrap_or_default()))
                }
                "Page.javascriptDialogOpening" => Some(format!("error dialog {}", parameters["message"])),
                _ => None,
            }
        };
        self.events.take_pending().into_iter().filter_map(line).collect()
    }

    /// Writes a screenshot of the visible part of the page, or of the whole page.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn screenshot(&self, path: &Path, whole: bool) -> Result<(), BrowserError> {
        let taken =
            self.call("Page.captureScreenshot", json!({"format": "png", "captureBeyondViewport": whole}))?;
        let bytes = STANDARD.decode(taken["data"].as_str().unwrap_or_default()).unwrap_or_default();
        std::fs::write(path, bytes).map_err(|source| BrowserError::Write { path: path.to_owned(), source })
    }

    fn call(&self, method: &str, parameters: Value) -> Result<Value, BrowserError> {
        self.connection.call(method, parameters, Some(&self.session))
    }
}

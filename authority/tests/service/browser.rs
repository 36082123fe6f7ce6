//! The monitor in a real browser: it is live, it shows what rooms do, and nothing else runs in it (V1).
//!
//! The browser is Chromium without a window, driven over its own debugging protocol. Where there is none, the test says so; with
//! `RETICK_REQUIRE_BROWSER` set, as in CI, that is a failure.

use std::io::{BufRead, BufReader, ErrorKind};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use futures_util::{SinkExt, StreamExt};
use retick_authority::service::ServiceConfig;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::game::{Scripted, factory, room_config};
use crate::server::{Server, client_is, local_config, soon};

/// What Debian and others call it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser with one page.
struct Browser {
    process: Child,
    profile: PathBuf,
    socket: WebSocketStream<TcpStream>,
    session: Option<String>,
    next: u64,
}

impl Browser {
    /// Starts one; `None` where there is none.
    async fn start() -> Option<Browser> {
        let profile = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{}", std::process::id()));
        let mut process = NAMES.iter().find_map(|name| launch(name, &profile))?;
        let mut lines = BufReader::new(process.stderr.take().expect("it was asked for")).lines();
        let address = tokio::task::spawn_blocking(move || {
            let found = lines
                .by_ref()
                .map_while(Result::ok)
                .find_map(|line| line.strip_prefix("DevTools listening on ws://").map(str::to_owned));
            // It goes on to complain, and must not wait for anybody to read it.
            std::thread::spawn(move || lines.for_each(drop));
            found
        });
        let address = soon("the browser starts", address).await.expect("no panic").expect("it says where it listens");
        let host = address.split('/').next().expect("a host").to_owned();
        let stream = TcpStream::connect(&host).await.expect("it listens");
        let limits = WebSocketConfig::default();
        let opened = client_async_with_config(format!("ws://{address}"), stream, Some(limits)).await;
        Some(Browser { process, profile, socket: opened.expect("it speaks WebSocket").0, session: None, next: 0 })
    }

    /// One command of the protocol, and its result.
    async fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let mut call = json!({ "id": self.next, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            call["sessionId"] = session.as_str().into();
        }
        self.socket.send(Message::text(call.to_string())).await.expect("the browser lives");
        loop {
            let message = soon(method, self.socket.next()).await.expect("the browser lives").expect("a message");
            let Message::Text(text) = message else { continue };
            let mut answer: Value = serde_json::from_str(&text).expect("JSON");
            if answer["id"] == self.next {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }

    async fn open(&mut self, url: &str) {
        let target = self.call("Target.createTarget", json!({ "url": url })).await["targetId"].take();
        let attached = self.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true })).await;
        self.session = attached["sessionId"].as_str().map(str::to_owned);
    }

    /// What an expression is in the page; a promise is awaited.
    async fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        self.call("Runtime.evaluate", parameters).await["result"]["value"].take()
    }

    async fn evaluates(&mut self, what: &str, expression: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let found = async {
            loop {
                let value = self.evaluate(expression).await;
                if wanted(&value) {
                    return value;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        soon(what, found).await
    }
}

fn launch(name: &str, profile: &std::path::Path) -> Option<Child> {
    let started = Command::new(name)
        // A container's root has no sandbox to give, and no shared memory to speak of.
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--remote-debugging-port=0", "about:blank"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    match started {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        started => Some(started.expect("the browser starts")),
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// The text of a cell of the room's row, or null.
fn cell(code: &str, column: &str) -> String {
    format!("document.querySelector('tr[data-room=\"{code}\"] td[data-column=\"{column}\"]')?.textContent ?? null")
}

fn number(value: &Value) -> f64 {
    let text = value.as_str().unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::print_stdout, reason = "a test that was not run says so")]
async fn v1_the_monitor_is_live_in_a_browser_and_nothing_else_runs_in_it() {
    let Some(mut browser) = Browser::start().await else {
        let required = std::env::var_os("RETICK_REQUIRE_BROWSER").is_some();
        assert!(!required, "no browser: install Debian's package chromium, or one of {NAMES:?}");
        return println!("not tested: there is no browser, none of {NAMES:?}");
    };
    let config = ServiceConfig { admin_address: Some(([127, 0, 0, 1], 0).into()), ..local_config() };
    let (server, game) = (Server::start(config), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let clients = [0, 1].map(|script| server.join(code, &game, Scripted::new(script).0));
    client_is("the match runs", &clients[0], |stats| stats.client.rollbacks > 10).await;

    browser.open(&format!("http://{}/monitor", server.admin.expect("it was asked for"))).await;
    let code = code.to_string();
    let live = "document.getElementById('link')?.textContent ?? null";
    browser.evaluates("the page is live", live, |value| value == "live").await;
    let first =
        number(&browser.evaluates("it shows the room", &cell(&code, "tick"), |value| number(value) > 0.0).await);
    browser.evaluates("its tick moves", &cell(&code, "tick"), |value| number(value) > first + 60.0).await;
    browser.evaluates("at its rate", &cell(&code, "ticks/s"), |value| (40.0..80.0).contains(&number(value))).await;
    for column in ["rollbacks", "in B/s", "out B/s"] {
        browser.evaluates(column, &cell(&code, column), |value| number(value) > 0.0).await;
    }
    for column in ["lag", "substituted", "late", "desyncs", "connections", "rollbacks/s"] {
        let shown = browser.evaluate(&cell(&code, column)).await;
        assert!(number(&shown) >= 0.0, "{column}: {shown}");
    }
    let seats = "document.querySelectorAll('td .seat.playing').length";
    assert_eq!(browser.evaluate(seats).await, 2);

    // Whatever got into the page as text or as markup, only its own script runs.
    let planted = "(async () => {
        const script = document.createElement('script');
        script.textContent = 'window.planted = 1';
        document.body.append(script);
        const image = document.createElement('div');
        image.innerHTML = '<img src=x onerror=\"window.planted = 2\"><a href=\"javascript:window.planted=3\" id=lure>';
        document.body.append(image);
        document.getElementById('lure').click();
        await new Promise(done => setTimeout(done, 300));
        let reached = 'no';
        try { await fetch('http://127.0.0.1:9/'); reached = 'yes'; } catch { reached = 'refused'; }
        return [window.planted ?? null, reached];
    })()";
    assert_eq!(browser.evaluate(planted).await, json!([null, "refused"]));

    drop(clients);
    server.stop().await;
    browser
        .evaluates("it says that nobody answers", live, |value| {
            value.as_str().is_some_and(|text| text.starts_with("no answer"))
        })
        .await;
}

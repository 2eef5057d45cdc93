//! The drawing thread, which draws at a readable rate, independent of the run.

use super::layout::{limit_lines, line, lines};
use super::machine::{json_line, object};
use super::pace::Pace;
use super::servers::{ServerLine, ServerLines};
use super::tally::{Snapshot, TaskTally};
use super::total_lines::total_lines;
use super::totals::{RunTotals, TotalsSnapshot};
use super::view::{MAX_LINES, View, print_around_view};
use super::{ProgressKind, Tasks};
use crate::terminal::words::stderr_columns;
use gage_backend::HttpHosts;
use gage_core::spawn_thread;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval for fixed lines.
const LIVE: Duration = Duration::from_millis(200);
/// Interval for JSON.
const MACHINE: Duration = Duration::from_secs(1);
/// Delay of the first plain line. A shorter run needs none.
const MIN_PLAIN_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum interval between plain lines.
const MAX_PLAIN_INTERVAL: Duration = Duration::from_secs(60);
/// Width of plain lines, which are not limited by a terminal.
const PLAIN_COLUMNS: usize = 160;

/// Draws until it is dropped.
pub(super) struct Painter {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Painter {
    /// Starts the thread. Returns `None` if there is nothing to draw, or no thread is available.
    pub(super) fn start(
        kind: ProgressKind,
        tasks: Arc<Tasks>,
        servers: HttpHosts,
        totals: Arc<RunTotals>,
    ) -> Option<Painter> {
        let canvas = match kind {
            ProgressKind::Live => Canvas::Live(View::open()),
            ProgressKind::Plain => Canvas::Plain { next: MIN_PLAIN_INTERVAL, has_begun: false },
            ProgressKind::Json => Canvas::Json,
            ProgressKind::Auto | ProgressKind::None => return None,
        };
        let (wake, woken) = sync_channel(1);
        let servers = ServerLines::new(servers);
        let (shown, limits) = (Vec::new(), Vec::new());
        let (tokens, began) = (Pace::default(), Instant::now());
        let drawing = Drawing { tasks, totals, tokens, shown, servers, limits, canvas, began };
        let thread = spawn_thread("progress", move || drawing.run(&woken));
        Some(Painter { wake: Some(wake), thread: Some(thread.ok()?) })
    }

    /// Wakes the thread immediately.
    pub(super) fn wake(&self) {
        if let Some(wake) = &self.wake {
            // If it is already awake, it checks anyway.
            let _ = wake.try_send(());
        }
    }
}

impl Drop for Painter {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // A failure only affects the display.
            let _ = thread.join();
        }
    }
}

enum Canvas {
    Live(View),
    Plain { next: Duration, has_begun: bool },
    Json,
}

struct Drawing {
    tasks: Arc<Tasks>,
    totals: Arc<RunTotals>,
    /// Tokens of completions over time.
    tokens: Pace,
    /// Known tasks, and whether their end was shown.
    shown: Vec<ShownLines>,
    servers: ServerLines,
    /// Lines about limits that were printed.
    limits: Vec<String>,
    canvas: Canvas,
    began: Instant,
}

struct ShownLines {
    task: Arc<TaskTally>,
    pace: Pace,
    has_ended: bool,
}

impl Drawing {
    fn run(mut self, woken: &Receiver<()>) {
        loop {
            let patience = match &self.canvas {
                Canvas::Live(_) => LIVE,
                Canvas::Json => MACHINE,
                Canvas::Plain { next, .. } => next.saturating_sub(self.began.elapsed()).min(MACHINE),
            };
            match woken.recv_timeout(patience) {
                Ok(()) => self.draw(false),
                Err(RecvTimeoutError::Timeout) => self.draw(true),
                Err(RecvTimeoutError::Disconnected) => {
                    self.draw(false);
                    self.leave_servers();
                    return;
                }
            }
        }
    }

    /// Prints the servers that the run still waited for, because fixed lines are removed.
    fn leave_servers(&mut self) {
        if let Canvas::Live(_) = self.canvas {
            let has_colour = crate::terminal::colour_on_stderr();
            for server in self.servers.update().iter().filter(|server| server.may_return()) {
                print_around_view(&server.line(stderr_columns(), has_colour));
            }
        }
    }

    /// Draws updates. With `is_time`, all running tasks are due.
    fn draw(&mut self, is_time: bool) {
        let tasks = self.tasks.read();
        let new: Vec<Arc<TaskTally>> = tasks.iter().skip(self.shown.len()).cloned().collect();
        drop(tasks);
        let first_new = self.shown.len();
        self.shown.extend(new.into_iter().map(|task| ShownLines {
            task,
            pace: Pace::default(),
            has_ended: false,
        }));
        let mut running: Vec<(Snapshot, &Pace, bool)> = Vec::new();
        for (place, shown) in self.shown.iter_mut().enumerate().filter(|(_, shown)| !shown.has_ended) {
            let now = shown.task.snapshot();
            shown.pace.note(now.elapsed, now.done);
            shown.has_ended = now.has_ended;
            running.push((now, &shown.pace, place >= first_new));
        }
        let servers = self.servers.update();
        match &mut self.canvas {
            Canvas::Live(view) => {
                let totals = self.totals.snapshot();
                self.tokens.note(totals.elapsed, totals.usage.completion_tokens);
                let lines = live_lines(&running, &servers, &totals, &self.tokens);
                view.show(&lines);
            }
            Canvas::Plain { next, has_begun } => {
                let elapsed = self.began.elapsed();
                let is_due = elapsed >= *next;
                servers.iter().filter(|server| server.has_changed || is_due).for_each(|server| {
                    print_around_view(&server.line(PLAIN_COLUMNS, false));
                });
                for (now, pace, _) in &running {
                    // The end of a task is shown only if its progress was.
                    if is_due || (*has_begun && now.has_ended) {
                        print_around_view(&line(now, pace, PLAIN_COLUMNS, false));
                    }
                }
                if is_due {
                    for limit in limit_lines(running.iter().map(|(now, ..)| now), PLAIN_COLUMNS, false) {
                        if !self.limits.contains(&limit) {
                            print_around_view(&limit);
                            self.limits.push(limit);
                        }
                    }
                    *has_begun = true;
                    *next = elapsed + (elapsed / 20).clamp(MIN_PLAIN_INTERVAL, MAX_PLAIN_INTERVAL);
                }
            }
            Canvas::Json => {
                servers.iter().filter(|server| is_time || server.has_changed).for_each(|server| {
                    print_around_view(&json_line(&server.object()));
                });
                for (now, pace, is_new) in &running {
                    if *is_new {
                        print_around_view(&json_line(&object("task_started", now, pace)));
                    }
                    match now.has_ended {
                        true => print_around_view(&json_line(&object("task_finished", now, pace))),
                        false if is_time => print_around_view(&json_line(&object("progress", now, pace))),
                        false => {}
                    }
                }
            }
        }
    }
}

/// Returns the fixed lines: those of the tasks, of limits, of servers, and of the whole run.
fn live_lines(
    tasks: &[(Snapshot, &Pace, bool)],
    servers: &[ServerLine],
    totals: &TotalsSnapshot,
    tokens: &Pace,
) -> Vec<String> {
    let (columns, has_colour) = (stderr_columns(), crate::terminal::colour_on_stderr());
    let running = tasks.iter().filter(|(now, ..)| !now.has_ended);
    let running: Vec<(&Snapshot, &Pace)> = running.map(|(now, pace, _)| (now, *pace)).collect();
    let mut lines = lines(running.iter().copied().take(MAX_LINES), columns, has_colour);
    if running.len() > MAX_LINES {
        lines.push(format!("and {} more tasks", running.len() - MAX_LINES));
    }
    lines.extend(limit_lines(running.iter().map(|(now, _)| *now), columns, has_colour));
    lines.extend(servers.iter().map(|server| server.line(columns, has_colour)));
    lines.extend(total_lines(totals, &running, tokens, columns, has_colour));
    lines
}

//! Sends messages to the host, with a sign of life at least after each call of the model.

use gage_model_protocol::FromModel;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Minimum time since the last message before progress is reported.
const MIN_PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// Sender of messages. Used only by the thread that computes, so that silence means that a call does not end.
pub struct MessageSender<S> {
    send: S,
    sent_at: Instant,
}

impl<S: FnMut(FromModel) -> ControlFlow<()>> MessageSender<S> {
    /// Creates a sender that has just sent a message.
    pub fn new(send: S) -> MessageSender<S> {
        MessageSender { send, sent_at: Instant::now() }
    }

    /// Sends a message. Returns `Break` if the host is gone.
    pub fn send(&mut self, message: FromModel) -> ControlFlow<()> {
        self.sent_at = Instant::now();
        (self.send)(message)
    }

    /// Reports that a call of the model has ended, unless a message was sent shortly before `now`.
    pub fn report_progress(&mut self, now: Instant) -> ControlFlow<()> {
        match now.saturating_duration_since(self.sent_at) < MIN_PROGRESS_INTERVAL {
            true => ControlFlow::Continue(()),
            false => self.send(FromModel::Progress),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_reported_only_after_a_silence() {
        let mut sent = 0;
        let mut sender = MessageSender::new(|message| {
            sent += u32::from(matches!(message, FromModel::Progress));
            ControlFlow::Continue(())
        });
        let begin = Instant::now();
        sender.sent_at = begin;
        for milliseconds in [0, 100, 499, 500] {
            assert!(sender.report_progress(begin + Duration::from_millis(milliseconds)).is_continue());
        }
        assert_eq!(sent, 1);
    }

    #[test]
    fn a_host_that_is_gone_ends_the_work() {
        let mut sender = MessageSender::new(|_| ControlFlow::Break(()));
        let now = Instant::now();
        sender.sent_at = now;
        assert!(sender.report_progress(now).is_continue(), "nothing is sent");
        assert!(sender.report_progress(now + MIN_PROGRESS_INTERVAL).is_break());
    }
}

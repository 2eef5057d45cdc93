//! Sends messages to the host, with a sign of life at least after each call of the model.

use gage_model_protocol::FromModel;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Minimum time since the last message before progress is reported.
const MIN_PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// Sender of messages. Clones share the stream, and are used only by the thread that computes, so that silence means
/// that a call does not end.
pub struct MessageSender<S>(Rc<RefCell<MessageStream<S>>>);

struct MessageStream<S> {
    send: S,
    sent_at: Instant,
}

impl<S> Clone for MessageSender<S> {
    fn clone(&self) -> MessageSender<S> {
        MessageSender(Rc::clone(&self.0))
    }
}

impl<S: FnMut(FromModel) -> ControlFlow<()>> MessageSender<S> {
    /// Creates a sender that has just sent a message.
    pub fn new(send: S) -> MessageSender<S> {
        MessageSender(Rc::new(RefCell::new(MessageStream { send, sent_at: Instant::now() })))
    }

    /// Sends a message. Returns `Break` if the host is gone.
    pub fn send(&self, message: FromModel) -> ControlFlow<()> {
        let mut stream = self.0.borrow_mut();
        stream.sent_at = Instant::now();
        (stream.send)(message)
    }

    /// Reports that a call of the model has ended, or more of its file was loaded, unless a message was sent shortly
    /// before `now`.
    pub fn report_progress(&self, now: Instant) -> ControlFlow<()> {
        let sent_at = self.0.borrow().sent_at;
        match now.saturating_duration_since(sent_at) < MIN_PROGRESS_INTERVAL {
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
        let sender = MessageSender::new(|message| {
            sent += u32::from(matches!(message, FromModel::Progress));
            ControlFlow::Continue(())
        });
        let begin = Instant::now();
        sender.0.borrow_mut().sent_at = begin;
        for milliseconds in [0, 100, 499, 500] {
            assert!(sender.report_progress(begin + Duration::from_millis(milliseconds)).is_continue());
        }
        assert_eq!(sent, 1);
    }

    #[test]
    fn a_host_that_is_gone_ends_the_work() {
        let sender = MessageSender::new(|_| ControlFlow::Break(()));
        let now = Instant::now();
        sender.0.borrow_mut().sent_at = now;
        assert!(sender.report_progress(now).is_continue(), "nothing is sent");
        assert!(sender.report_progress(now + MIN_PROGRESS_INTERVAL).is_break());
    }
}

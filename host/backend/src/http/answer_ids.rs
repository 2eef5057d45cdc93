//! Detects answers to other requests: a server or proxy that sends one answer too many shifts all later answers of the
//! connection by one.
//!
//! HTTP/1.1 pairs answers with requests by their order alone. But most servers give each answer an `id`, and a surplus
//! answer repeats one. Servers that give many answers the same id are exempt: they are recognized by an id that was seen
//! on two connections. If the first two answers of such a server come on one connection, the second one looks surplus. It
//! is asked for again, because the first surplus answer of another server would look the same, and would be scored.

use super::failure::HttpFailure;
use super::transport::ConnectionKey;
use parking_lot::Mutex;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Semaphore;

/// Number of ids that are remembered. A surplus answer follows the original soon.
const MAX_REMEMBERED_IDS: usize = 16_384;

/// Number of connections whose state is kept, in addition to those in use.
const MAX_IDLE_CONNECTIONS: usize = 1024;

/// Digest of the id of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AnswerId(u64);

impl AnswerId {
    /// Returns the digest of an id; `None` if it is empty.
    pub(crate) fn of(id: &str) -> Option<AnswerId> {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        (!id.is_empty()).then(|| AnswerId(hasher.finish()))
    }
}

/// Ids of the pieces of a streamed answer.
#[derive(Default)]
pub(crate) struct PieceIds {
    first: Option<AnswerId>,
    last: Option<AnswerId>,
    /// Number of pieces with an id.
    pieces: u32,
    /// Number of pieces with another id than the first one.
    others: u32,
    /// True if an id other than the first one came twice in a row.
    has_second_answer: bool,
}

impl PieceIds {
    /// Adds the id of a piece.
    pub(crate) fn add(&mut self, piece: Option<AnswerId>) {
        let Some(piece) = piece else { return };
        let first = *self.first.get_or_insert(piece);
        let last = self.last.replace(piece);
        self.pieces += 1;
        self.others += u32::from(piece != first);
        self.has_second_answer |= piece != first && last == Some(piece);
    }

    /// Returns the id of the answer; `None` if each piece has its own id. Two pieces are too few to tell that.
    ///
    /// # Errors
    /// If the pieces belong to several answers.
    pub(crate) fn answer_id(&self) -> Result<Option<AnswerId>, HttpFailure> {
        let has_own_ids = self.pieces > 2 && self.others + 1 == self.pieces && !self.has_second_answer;
        match self.others {
            0 => Ok(self.first),
            _ if has_own_ids => Ok(None),
            _ => Err(HttpFailure::mixed_stream()),
        }
    }
}

/// Turn of an answer on its connection.
pub(super) type ConnectionTurn = Arc<Semaphore>;

/// Ids of the answers that a backend received.
#[derive(Default)]
pub(super) struct AnswerIds {
    state: Mutex<ReceivedIds>,
    /// True if different answers have the same id.
    is_exempt: AtomicBool,
}

#[derive(Default)]
struct ReceivedIds {
    connections: HashMap<AnswerId, ConnectionKey>,
    order: VecDeque<AnswerId>,
    turns: HashMap<ConnectionKey, ConnectionTurn>,
    /// Number of connections in use when idle ones were last removed.
    used_connections: usize,
    shifted: HashSet<ConnectionKey>,
}

impl AnswerIds {
    /// Returns the turn of an answer, which must be held from its head until its check. So no later answer of the
    /// connection is checked before it. `None` if no check is needed.
    pub(super) fn turn(&self, connection: ConnectionKey) -> Option<ConnectionTurn> {
        if self.is_exempt.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.state.lock();
        if state.turns.len() > 2 * state.used_connections + MAX_IDLE_CONNECTIONS {
            state.turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            state.used_connections = state.turns.len();
        }
        let turn = state.turns.entry(connection).or_insert_with(|| Arc::new(Semaphore::new(1)));
        Some(Arc::clone(turn))
    }

    /// Checks the answer on a connection. Returns false if it belongs to another request. The caller then sends the
    /// request again on a fresh connection.
    pub(super) fn check(&self, connection: ConnectionKey, id: Option<AnswerId>) -> bool {
        if self.is_exempt.load(Ordering::Relaxed) {
            return true;
        }
        let mut state = self.state.lock();
        let ReceivedIds { connections, order, shifted, .. } = &mut *state;
        if shifted.contains(&connection) {
            return false;
        }
        let Some(id) = id else { return true };
        match connections.entry(id) {
            Entry::Vacant(entry) => {
                entry.insert(connection);
                order.push_back(id);
                if order.len() > MAX_REMEMBERED_IDS
                    && let Some(oldest) = order.pop_front()
                {
                    connections.remove(&oldest);
                }
                true
            }
            Entry::Occupied(entry) if *entry.get() == connection => {
                if shifted.len() > MAX_IDLE_CONNECTIONS {
                    shifted.clear();
                }
                shifted.insert(connection);
                false
            }
            Entry::Occupied(_) => {
                self.is_exempt.store(true, Ordering::Relaxed);
                *state = ReceivedIds::default();
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(port: u16) -> ConnectionKey {
        ConnectionKey(([127, 0, 0, 1], port).into())
    }

    #[test]
    fn answers_after_a_repeated_id_are_rejected() {
        let ids = AnswerIds::default();
        for (port, id, is_accepted) in [
            (1, "a", true),
            (1, "b", true),
            (2, "c", true),
            (1, "b", false),
            // The real answer to the request that got the surplus one.
            (1, "d", false),
            (1, "", false),
            (2, "e", true),
            (3, "d", true),
        ] {
            assert_eq!(ids.check(connection(port), AnswerId::of(id)), is_accepted, "{port} {id}");
        }
    }

    #[test]
    fn a_server_with_one_id_for_all_answers_is_exempt() {
        let ids = AnswerIds::default();
        let one = AnswerId::of("one");
        assert!(ids.check(connection(1), one));
        assert!(!ids.check(connection(1), one), "it may be a surplus answer");
        assert!(ids.check(connection(2), one), "a fresh connection has the same id");
        assert!((0..10).all(|_| ids.check(connection(1), one) && ids.turn(connection(1)).is_none()));
    }

    #[test]
    fn answers_without_an_id_are_accepted() {
        let ids = AnswerIds::default();
        assert!((0..10).all(|_| ids.check(connection(1), None)));
    }

    #[test]
    fn memory_is_bounded() {
        let ids = AnswerIds::default();
        for number in 0..3 * MAX_REMEMBERED_IDS {
            assert!(ids.check(connection(1), AnswerId::of(&number.to_string())));
        }
        for port in 0..10_000 {
            drop(ids.turn(connection(port)));
        }
        let state = ids.state.lock();
        assert_eq!((state.connections.len(), state.order.len()), (MAX_REMEMBERED_IDS, MAX_REMEMBERED_IDS));
        assert!(state.turns.len() <= MAX_IDLE_CONNECTIONS + 1);
    }
}

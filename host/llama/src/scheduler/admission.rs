//! Admission of requests, and the cells that they reuse.

use super::request::Request;
use super::{Event, Scheduler};
use crate::batch::shorten;
use crate::prefix_cache::{common, whole_parts};
use crate::runtime::internal;
use gage_model_protocol::{JobError, to_u32};
use std::ops::Range;
use std::time::Instant;

/// Minimum number of shared tokens worth waiting for while another request computes them.
const WORTH_WAITING: usize = 32;

/// Source of the beginning of a prompt.
enum Source {
    Nowhere,
    /// Copied from the sequence that an earlier request left.
    Cached(i32, usize),
    /// Copied from the sequence of a request in progress.
    Active(i32, usize),
    /// Available later, from a request that has not computed it yet.
    Later,
}

impl Scheduler<'_> {
    /// Admits requests while there is room.
    pub(super) fn admit(&mut self) {
        while let Some(request) = self.waiting.front() {
            let settings = self.preparation.settings;
            if settings.deterministic && !self.active.is_empty() {
                return;
            }
            let generating = self.active.iter().filter(|request| request.is_generation()).count();
            if request.is_generation() && generating >= settings.slots {
                return;
            }
            let source = self.source(request);
            let (cells, count) = (request.cells(), request.lanes() + 1);
            if matches!(source, Source::Later) {
                return;
            }
            if let Source::Cached(sequence, _) = source {
                self.sequences.touch(sequence);
            }
            let Some(taken) = self.make_room(cells, count, &source) else { return };
            let Some(request) = self.waiting.pop_front() else { return };
            self.start(request, taken);
        }
    }

    /// Finds a source for the beginning of a prompt. The last token is always computed.
    fn source(&self, asked: &Request) -> Source {
        let prompt = &asked.prompt;
        if !self.shares {
            return Source::Nowhere;
        }
        let most = prompt.len().saturating_sub(1);
        let settings = self.preparation.settings;
        let spans = asked.spans();
        let counted = |common: usize| match settings.deterministic {
            true => whole_parts(common, prompt.len(), &spans, settings.call_tokens),
            false => common,
        };
        let held =
            self.sequences.best(prompt, counted).map(|(sequence, length)| (sequence, length.min(most)));
        let held = held.filter(|(_, length)| *length > 0);
        let (mut now, mut later) = (None, 0);
        for request in &self.active {
            let planned = common(&request.prompt, prompt).min(most);
            let computed = planned.min(request.computed);
            later = later.max(planned);
            if computed > now.map_or(0, |(_, length)| length)
                && let Some(sequence) = request.sequences.first()
            {
                now = Some((*sequence, computed));
            }
        }
        let best = held.map_or(0, |(_, length)| length).max(now.map_or(0, |(_, length)| length));
        match (held, now) {
            _ if later >= best + WORTH_WAITING => Source::Later,
            (Some((sequence, length)), _) if length == best => Source::Cached(sequence, length),
            (_, Some((sequence, length))) => Source::Active(sequence, length),
            _ => Source::Nowhere,
        }
    }

    /// Makes room for a request by evicting earlier prompts.
    ///
    /// Returns its sequences and how many tokens of its prompt they hold, or `None` if it has to wait.
    fn make_room(&mut self, cells: usize, count: usize, source: &Source) -> Option<(Vec<i32>, usize)> {
        let in_use: usize = self.active.iter().map(Request::cells).sum();
        let mut taken_over = None;
        loop {
            let held = self.sequences.cached_cells();
            let has_cells = in_use + held + cells <= self.cells || (in_use == 0 && held == 0);
            let needed = count - usize::from(taken_over.is_some());
            // With `deterministic`, the memory must hold nothing but this request.
            let is_alone = !self.preparation.settings.deterministic || held == 0;
            if has_cells && is_alone && self.sequences.free() >= needed {
                break;
            }
            match self.sequences.pop_oldest() {
                Some(held) if matches!(source, Source::Cached(sequence, _) if *sequence == held.sequence) => {
                    taken_over = Some(held.sequence);
                }
                Some(held) => self.drop_cached(held),
                None if taken_over.is_some() => {
                    // It has to wait, and loses the prefix that it would have reused.
                    if let Some(sequence) = taken_over {
                        shorten(&mut self.context, sequence, 0);
                        self.sequences.release(sequence);
                    }
                    return None;
                }
                None => return None,
            }
        }
        let mut sequences: Vec<i32> = taken_over.into_iter().collect();
        sequences.extend(self.sequences.acquire(count - sequences.len())?);
        let first = sequences.first().copied()?;
        let length = match (source, taken_over) {
            (Source::Cached(_, length), Some(sequence)) => shorten(&mut self.context, sequence, *length),
            (Source::Cached(sequence, length) | Source::Active(sequence, length), None) => {
                self.copy(*sequence, first, Some(0..*length)).map_or(0, |()| *length)
            }
            _ => 0,
        };
        Some((sequences, length))
    }

    /// Shares some or all cells of one sequence with another.
    pub(super) fn copy(&mut self, from: i32, to: i32, cells: Option<Range<usize>>) -> Result<(), JobError> {
        let (start, end) = cells.map(|cells| (to_u32(cells.start), to_u32(cells.end))).unzip();
        self.context
            .kv_cache_seq_cp(from, to, start, end)
            .map_err(|error| internal(format!("a sequence cannot be copied: {error}")))
    }

    fn start(&mut self, mut request: Request, (sequences, length): (Vec<i32>, usize)) {
        request.start(sequences, length);
        if length >= WORTH_WAITING {
            self.sequences.expect_more();
        }
        self.counts.reused_tokens += u64::from(to_u32(length));
        self.events.push(Event::Began(request.number));
        if let Some(rolling) = self.rolling.get_mut(&request.number) {
            rolling.started.get_or_insert_with(Instant::now);
        }
        let made = if self.shares { self.next_round(&mut request).map(|_| ()) } else { Ok(()) };
        match made {
            Ok(()) => self.active.push(request),
            Err(error) => {
                self.answer(&mut request, Err(error));
                self.release(request, false);
            }
        }
        self.counts.most_requests = self.counts.most_requests.max(u64::from(to_u32(self.active.len())));
    }
}

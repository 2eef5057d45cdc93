//! Computes images in prompts, each by itself when its request has reached it.

use super::Scheduler;
use super::request::Request;
use crate::runtime::internal;
use gage_model_protocol::{JobError, to_u32};

impl Scheduler<'_> {
    /// Computes the next image of the first request that has reached one.
    ///
    /// Each step computes one image, so that other requests can proceed. If it fails, only its own request fails.
    /// Returns false if there is no image.
    pub(super) fn compute_image(&mut self) -> bool {
        let Some(index) = self.active.iter().position(|request| request.next_image().is_some()) else {
            return false;
        };
        let mut request = self.active.remove(index);
        match self.compute_next_image(&mut request) {
            Ok(()) => self.active.insert(index, request),
            Err(error) => {
                self.answer(&mut request, Err(error));
                self.release(request, false);
            }
        }
        true
    }

    fn compute_next_image(&mut self, request: &mut Request) -> Result<(), JobError> {
        let (Some(image), Some((first, others))) = (request.next_image(), request.sequences.split_first())
        else {
            return Err(internal("there is no image to compute"));
        };
        let vision = self.preparation.vision.as_mut().ok_or_else(|| internal("there is no `mmproj`"))?;
        vision.compute(image, &mut self.context, *first).map_err(|error| JobError {
            message: format!("request '{}': {}", request.name, error.message),
            ..error
        })?;
        self.counts.calls += 1;
        self.counts.images += 1;
        self.counts.evaluated_tokens += u64::from(to_u32(image.facts.tokens));
        let span = image.span();
        if self.shares {
            for sequence in others.iter().take(request.lanes_in_use) {
                self.copy(*first, *sequence, Some(span.clone()))?;
            }
        }
        request.computed = span.end;
        Ok(())
    }
}

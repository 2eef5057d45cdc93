//! Results of a metric that runs in the local interpreter.

use crate::cases::Case;
use crate::native::NativeSession;
use gage_core::{EvalContext, FieldError, ScoreCard};
use gage_plugin::{ItemError, MetricItem, NativeMetric, NativeMetrics};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A configured metric of a running interpreter.
pub(super) struct NativeRun {
    session: Rc<RefCell<NativeSession>>,
    metric: NativeMetric,
}

impl NativeRun {
    pub(super) fn new(
        session: &Rc<RefCell<NativeSession>>,
        metrics: &Arc<NativeMetrics>,
        member: Option<&str>,
        params: Value,
    ) -> Result<NativeRun, Vec<FieldError>> {
        let metric = metrics.configure(member, params)?;
        let run = NativeRun { session: Rc::clone(session), metric };
        let reply = run.call("check", None, 1);
        let problem = |error: ItemError| vec![FieldError { pointer: String::new(), message: error.message }];
        run.metric.checked(reply.map_err(problem)?)?;
        Ok(run)
    }

    /// Returns the name of the primary score.
    pub(super) fn value_name(&self) -> &str {
        self.metric.description().values.first().map_or("score", |value| value.name.as_str())
    }

    /// Scores some cases together. `roots` returns the documents of a case.
    pub(super) fn score(
        &self,
        cases: &[&Case],
        roots: for<'c> fn(&'c Case) -> EvalContext<'c>,
    ) -> Vec<Result<ScoreCard, ItemError>> {
        let item = |case: &&Case| -> MetricItem {
            match case.body.get("inputs").and_then(Value::as_object) {
                Some(inputs) => self.metric.item("case", inputs),
                None => self.metric.resolve("case", roots(case)),
            }
        };
        self.metric.score(cases.iter().map(item).collect(), |items| {
            let count = items.len();
            match self.call("score", Some(items), count)? {
                Value::Array(replies) => Ok(replies),
                // The number of results is wrong, which is reported as such.
                _ => Ok(Vec::new()),
            }
        })
    }

    fn call(&self, name: &str, items: Option<Vec<Value>>, count: usize) -> Result<Value, ItemError> {
        let member = &self.metric.description().name;
        let mut request = json!({"call": name, "member": member, "params": self.metric.params()});
        if let Some(items) = items {
            request["items"] = items.into();
        }
        self.session.borrow_mut().call(&request, count)
    }
}

//! The usage of a run, and the budgets that end the run.
//!
//! The record of a sample holds its usage, and a resumed run reads it from there. The manifest holds the usage of samples
//! without a record, which were cut off between two requests.

use crate::limits::cancel_token::{CancelToken, StopReason};
use crate::plan::{Plan, PlannedTask};
use crate::progress::{Progress, RunUsage};
use crate::sample::output_keys::{SEMANTIC, TOOL_USAGE};
use crate::sample::usage::{sum_of, usage_at, usage_in};
use gage_config::{BudgetSpec, PriceSpec};
use gage_core::{Outcome, Usage};
use gage_record::{JournalIndex, Manifest, RecordError, RunIdentity, SampleRecord, TokenPrice};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

tokio::task_local! {
    /// The usage of this task's sample that no journal record holds yet.
    static PENDING_USAGE: RefCell<Vec<(Arc<str>, Usage)>>;
}

/// Runs the future of a sample and attributes to that sample the tokens that it uses.
pub(crate) fn track_usage<F: Future>(work: F) -> impl Future<Output = F::Output> {
    // Not an async function, which would hold the future twice and move it.
    PENDING_USAGE.scope(RefCell::default(), work)
}

/// Marks the sample's usage so far as recorded in the journal.
pub(crate) fn commit_usage() {
    // Outside of a sample, no usage is pending.
    let _ = PENDING_USAGE.try_with(|open| open.take());
}

/// Returns the number of the sample's pending usage entries, for [`BudgetTracker::keep_pending_usage_since`].
pub(crate) fn pending_usage() -> usize {
    PENDING_USAGE.try_with(|open| open.borrow().len()).unwrap_or_default()
}

/// Usage of a run, by backend, across all its processes.
pub(crate) struct BudgetTracker {
    budget: BudgetSpec,
    accounts: HashMap<String, BackendUsage>,
    /// The models of the backends, and the roles that ask them.
    identity: RunIdentity,
    failures: AtomicU64,
    /// The first budget that was exhausted.
    exhausted: OnceLock<BudgetLimit>,
    /// Usage of samples without a record, by backend.
    unrecorded: Mutex<BTreeMap<String, Usage>>,
    /// Number of answers whose token usage the backend does not report.
    uncounted: AtomicU64,
    /// Observer of the usage.
    progress: Option<Arc<dyn Progress>>,
}

#[derive(Clone, Copy, Debug)]
enum BudgetLimit {
    Cost(f64),
    Tokens(u64),
    Failures(u64),
    Time(Duration),
}

struct BackendUsage {
    backend_id: Arc<str>,
    price: Option<PriceSpec>,
    /// True if the backend runs on this machine, so it needs no price.
    is_local: bool,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
}

impl BackendUsage {
    /// Returns the cost so far; `None` without a price.
    fn cost(&self) -> Option<f64> {
        // Tokens of a run stay far below 2^53.
        let tokens = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let price = self.price.as_ref()?;
        Some(price.cost(tokens(&self.prompt_tokens), tokens(&self.completion_tokens)))
    }
}

impl BudgetTracker {
    pub(crate) fn new(plan: &Plan, identity: &RunIdentity) -> BudgetTracker {
        let config = &plan.config;
        let accounts = plan.backends().into_iter().map(|backend| {
            let account = BackendUsage {
                backend_id: backend.backend_id.as_str().into(),
                price: config.price_of(backend).cloned(),
                is_local: backend.is_local(),
                prompt_tokens: AtomicU64::new(0),
                completion_tokens: AtomicU64::new(0),
            };
            (backend.backend_id.clone(), account)
        });
        BudgetTracker {
            budget: config.budget.clone(),
            accounts: accounts.collect(),
            identity: identity.clone(),
            failures: AtomicU64::new(0),
            exhausted: OnceLock::new(),
            unrecorded: Mutex::default(),
            uncounted: AtomicU64::new(0),
            progress: None,
        }
    }

    /// Reports the usage whenever it grows.
    pub(crate) fn reporting_to(self, progress: &Arc<dyn Progress>) -> BudgetTracker {
        BudgetTracker { progress: Some(Arc::clone(progress)), ..self }
    }

    /// Adds the usage of earlier processes, as far as the journal and the manifest hold it. Ends the run if a budget is
    /// already exhausted.
    pub(crate) fn add_recorded_usage(
        &self,
        plan: &Plan,
        manifest: &Manifest,
        index: &JournalIndex,
        stop: &CancelToken,
    ) -> Result<(), RecordError> {
        let counts_tokens = self.budget.max_cost.is_some()
            || self.budget.max_tokens_total.is_some()
            || !plan.config.pricing.is_empty();
        for (backend_id, usage) in &manifest.unrecorded_usage {
            self.add_unrecorded_usage(backend_id, *usage);
            if counts_tokens {
                self.add_usage(backend_id, Some(*usage), stop);
            }
        }
        let mut answers = index.answers();
        for task in &plan.tasks {
            let task_id = &task.spec.task_id;
            for (row, sample) in index.samples(task_id) {
                let is_kept = !sample.outcome.is_retried_on_resume();
                if is_kept && sample.is_finished() && is_failure(sample.outcome) {
                    self.failures.fetch_add(1, Ordering::Relaxed);
                }
                if !counts_tokens || !(sample.is_answered() || sample.awaits_judges()) {
                    continue;
                }
                if let Some(record) = answers.read(task_id, row)? {
                    self.add_record(task, &record, stop);
                }
            }
            if counts_tokens {
                for record in index.whole_records(task_id) {
                    self.add_record(task, &record?, stop);
                }
            }
        }
        self.check_failures(stop);
        Ok(())
    }

    /// Adds the usage of every role of a recorded sample.
    fn add_record(&self, task: &PlannedTask, record: &SampleRecord, stop: &CancelToken) {
        self.add_support(task, record, stop);
        if record.model_output.is_some() && record.timing.attempts > 0 {
            self.add_usage(&task.role.backend_id, usage_in(record.model_output.as_deref()), stop);
        }
        self.add_embedding(task, record, stop);
        for (backend_id, usage) in usage_of_judges(task.judges.as_ref(), record) {
            self.add_usage(backend_id, usage, stop);
        }
    }

    /// Adds the usage of the roles that support the model, if they asked a model of their own.
    fn add_support(&self, task: &PlannedTask, record: &SampleRecord, stop: &CancelToken) {
        let follow_ups = task.follow_ups.iter().map(|follow_up| &follow_up.support_role);
        for support_role in task.support.iter().chain(follow_ups) {
            let output =
                record.support_output.as_ref().and_then(|all| all.get(&support_role.role.adapter_id));
            if let Some(usage) = usage_in(output) {
                self.add_usage(&support_role.role.backend_id, Some(usage), stop);
            }
        }
        let tools = task.tools.as_ref();
        let by_tools = record.model_output.as_ref().and_then(|output| usage_at(output, TOOL_USAGE));
        if let (Some(tools), Some(usage)) = (tools, by_tools) {
            self.add_usage(&tools.support_role.role.backend_id, Some(usage), stop);
        }
    }

    /// Adds the usage of an answer's embedding vectors.
    fn add_embedding(&self, task: &PlannedTask, record: &SampleRecord, stop: &CancelToken) {
        let semantic = record.model_output.as_ref().and_then(|output| output.get(SEMANTIC));
        if let (Some(embed), Some(usage)) = (&task.embed, usage_in(semantic)) {
            self.add_usage(&embed.role.backend_id, Some(usage), stop);
        }
    }

    /// Adds the usage of one answer of a backend. Ends the run if a budget is exhausted.
    pub(crate) fn add_usage(&self, backend_id: &str, usage: Option<Usage>, stop: &CancelToken) {
        let Some(account) = self.accounts.get(backend_id) else { return };
        let Some(usage) = usage else {
            self.uncounted.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let _ =
            PENDING_USAGE.try_with(|open| open.borrow_mut().push((Arc::clone(&account.backend_id), usage)));
        account.prompt_tokens.fetch_add(usage.prompt_tokens, Ordering::Relaxed);
        account.completion_tokens.fetch_add(usage.completion_tokens, Ordering::Relaxed);
        if let Some(progress) = &self.progress {
            progress.usage_counted(&self.usage());
        }
        if let Some(most) = self.budget.max_tokens_total.filter(|most| self.tokens() >= *most) {
            self.exhaust(BudgetLimit::Tokens(most), stop);
        }
        if let Some(most) = self.budget.max_cost.filter(|most| self.cost() >= *most) {
            self.exhaust(BudgetLimit::Cost(most), stop);
        }
    }

    /// Keeps the current sample's pending usage as unrecorded, because no record of the sample holds it.
    pub(crate) fn keep_pending_usage(&self) {
        self.keep_pending_usage_since(0);
    }

    /// Like `keep_pending_usage`, but only for entries after the first `mark`.
    pub(crate) fn keep_pending_usage_since(&self, mark: usize) {
        let open = PENDING_USAGE.try_with(|open| {
            let mut open = open.borrow_mut();
            let mark = mark.min(open.len());
            open.split_off(mark)
        });
        let open = open.unwrap_or_default();
        open.iter().for_each(|(backend_id, usage)| self.add_unrecorded_usage(backend_id, *usage));
    }

    fn add_unrecorded_usage(&self, backend_id: &str, usage: Usage) {
        let mut all = self.unrecorded.lock();
        let sum = sum_of(all.get(backend_id).copied(), Some(usage));
        all.extend(sum.map(|sum| (backend_id.to_owned(), sum)));
    }

    /// Returns the usage of samples without a record across all processes, by backend.
    pub(crate) fn unrecorded_usage(&self) -> BTreeMap<String, Usage> {
        self.unrecorded.lock().clone()
    }

    fn exhaust(&self, budget: BudgetLimit, stop: &CancelToken) {
        let first = self.exhausted.get_or_init(|| budget);
        stop.cancel_for(&StopReason::Budget(self.described(first)));
    }

    /// Updates a budget reason to the current usage, which includes requests in flight when the budget was exhausted.
    pub(crate) fn with_final_usage(&self, reason: StopReason) -> StopReason {
        match (&reason, self.exhausted.get()) {
            (StopReason::Budget(_), Some(budget)) => StopReason::Budget(self.described(budget)),
            _ => reason,
        }
    }

    fn described(&self, budget: &BudgetLimit) -> String {
        match budget {
            BudgetLimit::Cost(most) => format!("max_cost {most}: {:.6} is spent", self.cost()),
            BudgetLimit::Tokens(most) => {
                format!("max_tokens_total {most}: {} tokens are spent", self.tokens())
            }
            BudgetLimit::Failures(most) => {
                format!("max_failures {most}: {} samples failed", self.failures.load(Ordering::Relaxed))
            }
            BudgetLimit::Time(most) => format!("max_time {} s is over", most.as_secs_f64()),
        }
    }

    fn tokens(&self) -> u64 {
        let spent = self.usage();
        spent.prompt_tokens.saturating_add(spent.completion_tokens)
    }

    /// Counts a failed sample. Ends the run if too many have failed.
    pub(crate) fn add_failure(&self, stop: &CancelToken) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.check_failures(stop);
    }

    fn check_failures(&self, stop: &CancelToken) {
        let failures = self.failures.load(Ordering::Relaxed);
        if let Some(most) = self.budget.max_failures.filter(|most| failures > *most) {
            self.exhaust(BudgetLimit::Failures(most), stop);
        }
    }

    /// Ends the run when its time is up, of which some is over. A cancelled run that is still draining ends too.
    pub(crate) fn watch_time(
        self: &Arc<BudgetTracker>,
        stop: &CancelToken,
        runtime: &tokio::runtime::Handle,
        elapsed: Duration,
    ) {
        let Some(most) = self.budget.max_time else { return };
        let (budget, stop) = (Arc::downgrade(self), stop.clone());
        runtime.spawn(async move {
            tokio::time::sleep(most.saturating_sub(elapsed)).await;
            if let Some(budget) = budget.upgrade() {
                budget.exhaust(BudgetLimit::Time(most), &stop);
            }
        });
    }

    /// Returns the usage so far.
    pub(crate) fn usage(&self) -> RunUsage {
        let sum = |of: fn(&BackendUsage) -> &AtomicU64| {
            let tokens = self.accounts.values().map(|account| of(account).load(Ordering::Relaxed));
            tokens.fold(0_u64, u64::saturating_add)
        };
        let priced = || self.accounts.values().filter(|account| account.price.is_some());
        let priced_ids = priced().map(|account| &*account.backend_id);
        RunUsage {
            prompt_tokens: sum(|account| &account.prompt_tokens),
            completion_tokens: sum(|account| &account.completion_tokens),
            cost: priced().next().is_some().then(|| self.cost()),
            missing_prices: self.identity.missing_prices(priced_ids, &self.unpriced()),
            uncounted: self.uncounted.load(Ordering::Relaxed),
        }
    }

    /// Returns the cost so far of each backend with a price.
    pub(crate) fn costs(&self) -> BTreeMap<String, f64> {
        let costs = self.accounts.iter();
        costs.filter_map(|(backend_id, account)| Some((backend_id.clone(), account.cost()?))).collect()
    }

    /// Returns the price of each backend that has one.
    pub(crate) fn prices(&self) -> BTreeMap<String, TokenPrice> {
        let of = |account: &BackendUsage| {
            let PriceSpec { prompt, completion, .. } = *account.price.as_ref()?;
            Some(TokenPrice { prompt, completion })
        };
        let prices = self.accounts.iter();
        prices.filter_map(|(backend_id, account)| Some((backend_id.clone(), of(account)?))).collect()
    }

    /// Returns the servers that answered without a price, if another backend has one.
    pub(crate) fn unpriced(&self) -> BTreeSet<String> {
        let has_prices = self.accounts.values().any(|account| account.price.is_some());
        let is_unpriced = |account: &BackendUsage| {
            let tokens = [&account.prompt_tokens, &account.completion_tokens];
            let has_answered = tokens.into_iter().any(|counter| counter.load(Ordering::Relaxed) > 0);
            has_prices && has_answered && account.price.is_none() && !account.is_local
        };
        let unpriced = self.accounts.iter().filter(|(_, account)| is_unpriced(account));
        unpriced.map(|(backend_id, _)| backend_id.clone()).collect()
    }

    fn cost(&self) -> f64 {
        self.accounts.values().filter_map(BackendUsage::cost).sum()
    }

    #[cfg(test)]
    pub(crate) fn unlimited() -> BudgetTracker {
        BudgetTracker {
            budget: BudgetSpec::default(),
            accounts: HashMap::new(),
            identity: RunIdentity::default(),
            failures: AtomicU64::new(0),
            exhausted: OnceLock::new(),
            unrecorded: Mutex::default(),
            uncounted: AtomicU64::new(0),
            progress: None,
        }
    }
}

/// Returns the usage of each judge of an answer, with the judge's backend.
fn usage_of_judges<'p>(
    judges: Option<&'p crate::plan::PlannedJudges>,
    record: &SampleRecord,
) -> Vec<(&'p str, Option<Usage>)> {
    let (Some(judges), Some(output)) = (judges, &record.judge_output) else { return Vec::new() };
    let of = |judge: &'p crate::plan::PlannedJudge| {
        let own = if judges.judges.len() == 1 { Some(output) } else { output["judges"].get(&judge.judge_id) };
        (judge.role.backend_id.as_str(), usage_in(own))
    };
    judges.judges.iter().map(|judge| of(judge)).collect()
}

/// Returns true if the sample ended because of the data, the environment or a plugin, rather than the model's output.
pub(crate) fn is_failure(outcome: Outcome) -> bool {
    match outcome {
        Outcome::BackendError
        | Outcome::JudgeUnparseable
        | Outcome::PluginError
        | Outcome::PluginTimeout
        | Outcome::InvalidSample => true,
        Outcome::Scored
        | Outcome::EmptyOutput
        | Outcome::Truncated
        | Outcome::Refused
        | Outcome::Skipped
        | Outcome::MissingReference => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_of_failures_allows_so_many() {
        let budget = BudgetTracker {
            budget: BudgetSpec { max_failures: Some(1), ..BudgetSpec::default() },
            ..BudgetTracker::unlimited()
        };
        let stop = CancelToken::default();
        budget.add_failure(&stop);
        assert!(!stop.is_cancelled());
        budget.add_failure(&stop);
        let reason = stop.reason().expect("a budget");
        assert_eq!(reason, StopReason::Budget("max_failures 1: 2 samples failed".to_owned()));
        // A sample that was in flight fails, too.
        budget.add_failure(&stop);
        let at_end = budget.with_final_usage(reason);
        assert_eq!(at_end, StopReason::Budget("max_failures 1: 3 samples failed".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_budget_of_time_ends_the_run_when_it_is_over() {
        let most = Duration::from_secs(5);
        let budget = Arc::new(BudgetTracker {
            budget: BudgetSpec { max_time: Some(most), ..BudgetSpec::default() },
            ..BudgetTracker::unlimited()
        });
        let stop = CancelToken::default();
        let loading = Duration::from_secs(1);
        budget.watch_time(&stop, &tokio::runtime::Handle::current(), loading);
        for (advance, is_over) in [(0, false), (3, false), (2, true)] {
            tokio::time::advance(Duration::from_secs(advance)).await;
            tokio::task::yield_now().await;
            assert_eq!(stop.is_cancelled(), is_over, "{advance} s more");
        }
        assert_eq!(stop.reason(), Some(StopReason::Budget("max_time 5 s is over".to_owned())));
    }

    #[test]
    fn a_budget_of_tokens_ends_the_run_when_it_is_used_up() {
        let account = BackendUsage {
            backend_id: "a".into(),
            price: None,
            is_local: false,
            prompt_tokens: AtomicU64::new(0),
            completion_tokens: AtomicU64::new(0),
        };
        let budget = BudgetTracker {
            budget: BudgetSpec { max_tokens_total: Some(100), ..BudgetSpec::default() },
            accounts: HashMap::from([("a".to_owned(), account)]),
            ..BudgetTracker::unlimited()
        };
        let stop = CancelToken::default();
        for (backend_id, prompt_tokens, completion_tokens, total, is_over) in [
            ("a", 40, 20, 60, false),
            // A backend without an account is not part of the run.
            ("b", 90, 90, 60, false),
            ("a", 39, 0, 99, false),
            ("a", 0, 1, 100, true),
            // A request that was in flight counts too.
            ("a", 7, 3, 110, true),
        ] {
            budget.add_usage(backend_id, Some(Usage { prompt_tokens, completion_tokens }), &stop);
            assert_eq!((budget.tokens(), stop.is_cancelled()), (total, is_over), "{prompt_tokens}");
        }
        assert_eq!(
            stop.reason(),
            Some(StopReason::Budget("max_tokens_total 100: 100 tokens are spent".to_owned()))
        );
    }

    #[tokio::test]
    async fn what_no_record_tells_is_kept() {
        let budget = BudgetTracker {
            accounts: HashMap::from([(
                "a".to_owned(),
                BackendUsage {
                    backend_id: "a".into(),
                    price: None,
                    is_local: false,
                    prompt_tokens: AtomicU64::new(0),
                    completion_tokens: AtomicU64::new(0),
                },
            )]),
            ..BudgetTracker::unlimited()
        };
        let usage = |tokens| Usage { prompt_tokens: tokens, completion_tokens: 1 };
        track_usage(async {
            budget.add_usage("a", Some(usage(5)), &CancelToken::default());
            commit_usage();
            budget.add_usage("a", Some(usage(7)), &CancelToken::default());
            budget.add_usage("a", Some(usage(9)), &CancelToken::default());
            budget.keep_pending_usage();
            budget.keep_pending_usage();
            // Recorded usage is not kept.
            budget.add_usage("a", Some(usage(11)), &CancelToken::default());
            let told = pending_usage();
            budget.add_usage("a", Some(usage(13)), &CancelToken::default());
            budget.keep_pending_usage_since(told);
            commit_usage();
        })
        .await;
        let kept = Usage { prompt_tokens: 29, completion_tokens: 3 };
        assert_eq!(budget.unrecorded_usage(), BTreeMap::from([("a".to_owned(), kept)]));
        assert_eq!(budget.usage().prompt_tokens, 45);
    }

    #[test]
    fn tokens_and_cost_are_those_of_all_backends() {
        let price = PriceSpec {
            of: gage_config::PriceTarget::Backend("a".to_owned()),
            prompt: 2.0,
            completion: 10.0,
            span: gage_config::Span { source: 0, start: 0, end: 0 },
        };
        let account = |price: Option<PriceSpec>| BackendUsage {
            backend_id: "".into(),
            price,
            is_local: false,
            prompt_tokens: AtomicU64::new(0),
            completion_tokens: AtomicU64::new(0),
        };
        let budget = BudgetTracker {
            budget: BudgetSpec { max_cost: Some(0.01), ..BudgetSpec::default() },
            accounts: HashMap::from([
                ("a".to_owned(), account(Some(price))),
                ("b".to_owned(), account(None)),
            ]),
            ..BudgetTracker::unlimited()
        };
        let (budget, stop) = (Arc::new(budget), CancelToken::default());
        let usage = Some(Usage { prompt_tokens: 1_000, completion_tokens: 500 });
        budget.add_usage("a", usage, &stop);
        budget.add_usage("b", usage, &stop);
        budget.add_usage("b", None, &stop);
        let spent = budget.usage();
        assert_eq!((spent.prompt_tokens, spent.completion_tokens, spent.uncounted), (2_000, 1_000, 1));
        assert!(spent.cost.is_some_and(|cost| (cost - 0.007).abs() < 1e-12) && !stop.is_cancelled());
        assert_eq!(budget.costs().into_iter().collect::<Vec<_>>(), [("a".to_owned(), budget.cost())]);
        let price = TokenPrice { prompt: 2.0, completion: 10.0 };
        assert_eq!(budget.prices().into_iter().collect::<Vec<_>>(), [("a".to_owned(), price)]);
        assert_eq!(budget.unpriced().into_iter().collect::<Vec<_>>(), ["b"]);
        assert_eq!(spent.missing_prices.as_deref(), Some("no price for `b`"));
        budget.add_usage("a", usage, &stop);
        assert!(matches!(stop.reason(), Some(StopReason::Budget(text)) if text.starts_with("max_cost 0.01")));
    }
}

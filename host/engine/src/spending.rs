//! What a run has spent, and the budgets that end it.
//!
//! What is spent on a sample is told in its record, where a run that goes on finds it again. Of a sample that has none, for
//! it was cut off between two requests, the manifest keeps it.

use crate::active::is_failure;
use crate::embedding::SEMANTIC;
use crate::plan::{Plan, PlannedTask};
use crate::stop::{Stop, StopReason};
use crate::usage::{TOOL_USAGE, sum_of, usage_at, usage_in};
use gage_config::{BudgetSpec, PriceSpec};
use gage_core::Usage;
use gage_record::{JournalIndex, Manifest, RecordError, SampleRecord};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

tokio::task_local! {
    /// What was spent on the sample of this task and is in no record yet.
    static OPEN: RefCell<Vec<(Arc<str>, Usage)>>;
}

/// Does the work of a sample, of which it is noted what it spends.
pub(crate) fn noting<F: Future>(work: F) -> impl Future<Output = F::Output> {
    // Not itself async, or the work would be in there twice, and be moved as such.
    OPEN.scope(RefCell::default(), work)
}

/// What was spent on the sample so far is told in the journal.
pub(crate) fn recorded() {
    // Outside of a sample nothing is open.
    let _ = OPEN.try_with(|open| open.take());
}

/// How much of what was spent on the sample is open so far, for [`Spending::unrecorded_since`].
pub(crate) fn open() -> usize {
    OPEN.try_with(|open| open.borrow().len()).unwrap_or_default()
}

/// What a run has spent, by backend. Counts all processes of the run.
pub(crate) struct Spending {
    budget: BudgetSpec,
    accounts: HashMap<String, Account>,
    failures: AtomicU64,
    /// The budget that was used up first.
    used_up: OnceLock<Budget>,
    /// What was spent on samples without a record, by backend.
    unrecorded: Mutex<BTreeMap<String, Usage>>,
    /// Answers of which the backend does not say how many tokens they took.
    uncounted: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
enum Budget {
    Cost(f64),
    Tokens(u64),
    Failures(u64),
    Time(Duration),
}

struct Account {
    backend_id: Arc<str>,
    price: Option<PriceSpec>,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
}

/// What a run has spent in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Tokens of all prompts, those of judges too, as far as the backends count them.
    pub prompt_tokens: u64,
    /// Tokens of all completions.
    pub completion_tokens: u64,
    /// By the prices of the suite; none where it has none.
    pub cost: Option<f64>,
    /// Answers of which the backend does not say how many tokens they took.
    pub uncounted: u64,
}

impl Spending {
    pub(crate) fn new(plan: &Plan) -> Spending {
        let account = |backend_id: &str, price: Option<&PriceSpec>| Account {
            backend_id: backend_id.into(),
            price: price.cloned(),
            prompt_tokens: AtomicU64::new(0),
            completion_tokens: AtomicU64::new(0),
        };
        let config = &plan.config;
        let accounts = plan
            .backends()
            .into_iter()
            .map(|backend| {
                (backend.backend_id.clone(), account(&backend.backend_id, config.price_of(backend)))
            })
            .collect();
        Spending {
            budget: config.budget.clone(),
            accounts,
            failures: AtomicU64::new(0),
            used_up: OnceLock::new(),
            unrecorded: Mutex::default(),
            uncounted: AtomicU64::new(0),
        }
    }

    /// Adds what earlier processes of the run have spent, as far as the journal and the manifest say it, and ends the run
    /// where that is too much already.
    pub(crate) fn add_earlier(
        &self,
        plan: &Plan,
        manifest: &Manifest,
        index: &JournalIndex,
        stop: &Stop,
    ) -> Result<(), RecordError> {
        let counts_tokens = self.budget.max_cost.is_some()
            || self.budget.max_tokens_total.is_some()
            || !plan.config.pricing.is_empty();
        for (backend_id, usage) in &manifest.unrecorded_usage {
            self.add_unrecorded(backend_id, *usage);
            if counts_tokens {
                self.spend(backend_id, Some(*usage), stop);
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
                    if record.timing.attempts > 0 {
                        self.spend(&task.role.backend_id, usage_in(record.model_output.as_ref()), stop);
                    }
                    self.add_support(task, &record, stop);
                    self.add_embedding(task, &record, stop);
                    for (backend_id, usage) in judged(task.judges.as_ref(), &record) {
                        self.spend(backend_id, usage, stop);
                    }
                }
            }
            if counts_tokens {
                for record in index.whole_records(task_id) {
                    let record = record?;
                    self.add_support(task, &record, stop);
                    if record.model_output.is_some() && record.timing.attempts > 0 {
                        self.spend(&task.role.backend_id, usage_in(record.model_output.as_ref()), stop);
                    }
                    self.add_embedding(task, &record, stop);
                    for (backend_id, usage) in judged(task.judges.as_ref(), &record) {
                        self.spend(backend_id, usage, stop);
                    }
                }
            }
        }
        self.check_failures(stop);
        Ok(())
    }

    /// Adds what the roles that support the model took, where they asked a model of their own.
    fn add_support(&self, task: &PlannedTask, record: &SampleRecord, stop: &Stop) {
        for helper in &task.support {
            let output = record.support_output.as_ref().and_then(|all| all.get(&helper.role.adapter_id));
            if let Some(usage) = usage_in(output) {
                self.spend(&helper.role.backend_id, Some(usage), stop);
            }
        }
        let tools = task.tools.as_ref();
        let by_tools = record.model_output.as_ref().and_then(|output| usage_at(output, TOOL_USAGE));
        if let (Some(tools), Some(usage)) = (tools, by_tools) {
            self.spend(&tools.helper.role.backend_id, Some(usage), stop);
        }
    }

    /// What the vectors of an answer took.
    fn add_embedding(&self, task: &PlannedTask, record: &SampleRecord, stop: &Stop) {
        let semantic = record.model_output.as_ref().and_then(|output| output.get(SEMANTIC));
        if let (Some(embed), Some(usage)) = (&task.embed, usage_in(semantic)) {
            self.spend(&embed.role.backend_id, Some(usage), stop);
        }
    }

    /// An answer of a backend took so much. Ends the run where a budget is used up.
    pub(crate) fn spend(&self, backend_id: &str, usage: Option<Usage>, stop: &Stop) {
        let Some(account) = self.accounts.get(backend_id) else { return };
        let Some(usage) = usage else {
            self.uncounted.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let _ = OPEN.try_with(|open| open.borrow_mut().push((Arc::clone(&account.backend_id), usage)));
        account.prompt_tokens.fetch_add(usage.prompt_tokens, Ordering::Relaxed);
        account.completion_tokens.fetch_add(usage.completion_tokens, Ordering::Relaxed);
        if let Some(most) = self.budget.max_tokens_total.filter(|most| self.tokens() >= *most) {
            self.end(Budget::Tokens(most), stop);
        }
        if let Some(most) = self.budget.max_cost.filter(|most| self.cost() >= *most) {
            self.end(Budget::Cost(most), stop);
        }
    }

    /// The sample of this task has no record that tells what was spent on it.
    pub(crate) fn unrecorded(&self) {
        self.unrecorded_since(0);
    }

    /// The same of what was spent since so much was open.
    pub(crate) fn unrecorded_since(&self, told: usize) {
        let open = OPEN.try_with(|open| {
            let mut open = open.borrow_mut();
            let told = told.min(open.len());
            open.split_off(told)
        });
        let open = open.unwrap_or_default();
        open.iter().for_each(|(backend_id, usage)| self.add_unrecorded(backend_id, *usage));
    }

    fn add_unrecorded(&self, backend_id: &str, usage: Usage) {
        let mut all = self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = sum_of(all.get(backend_id).copied(), Some(usage));
        all.extend(sum.map(|sum| (backend_id.to_owned(), sum)));
    }

    /// What all processes spent on samples without a record, by backend.
    pub(crate) fn all_unrecorded(&self) -> BTreeMap<String, Usage> {
        self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn end(&self, budget: Budget, stop: &Stop) {
        let first = self.used_up.get_or_init(|| budget);
        stop.set_for(&StopReason::Budget(self.described(first)));
    }

    /// The same reason with what is spent by now: what was in flight when a budget was used up came later.
    pub(crate) fn at_end(&self, reason: StopReason) -> StopReason {
        match (&reason, self.used_up.get()) {
            (StopReason::Budget(_), Some(budget)) => StopReason::Budget(self.described(budget)),
            _ => reason,
        }
    }

    fn described(&self, budget: &Budget) -> String {
        match budget {
            Budget::Cost(most) => format!("max_cost {most}: {:.6} is spent", self.cost()),
            Budget::Tokens(most) => format!("max_tokens_total {most}: {} tokens are spent", self.tokens()),
            Budget::Failures(most) => {
                format!("max_failures {most}: {} samples failed", self.failures.load(Ordering::Relaxed))
            }
            Budget::Time(most) => format!("max_time {} s is over", most.as_secs_f64()),
        }
    }

    fn tokens(&self) -> u64 {
        let spent = self.spent();
        spent.prompt_tokens.saturating_add(spent.completion_tokens)
    }

    /// A sample has failed. Ends the run where too many have.
    pub(crate) fn failed(&self, stop: &Stop) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.check_failures(stop);
    }

    fn check_failures(&self, stop: &Stop) {
        let failures = self.failures.load(Ordering::Relaxed);
        if let Some(most) = self.budget.max_failures.filter(|most| failures > *most) {
            self.end(Budget::Failures(most), stop);
        }
    }

    /// Ends the run when its time is over; also one that was asked to end, and still goes on with what it had begun.
    pub(crate) fn watch_time(self: &Arc<Spending>, stop: &Stop, runtime: &tokio::runtime::Handle) {
        let Some(most) = self.budget.max_time else { return };
        let (spending, stop) = (Arc::downgrade(self), stop.clone());
        runtime.spawn(async move {
            tokio::time::sleep(most).await;
            if let Some(spending) = spending.upgrade() {
                spending.end(Budget::Time(most), &stop);
            }
        });
    }

    /// What is spent by now.
    pub(crate) fn spent(&self) -> Spent {
        let sum = |of: fn(&Account) -> &AtomicU64| {
            let tokens = self.accounts.values().map(|account| of(account).load(Ordering::Relaxed));
            tokens.fold(0_u64, u64::saturating_add)
        };
        let is_priced = self.accounts.values().any(|account| account.price.is_some());
        Spent {
            prompt_tokens: sum(|account| &account.prompt_tokens),
            completion_tokens: sum(|account| &account.completion_tokens),
            cost: is_priced.then(|| self.cost()),
            uncounted: self.uncounted.load(Ordering::Relaxed),
        }
    }

    fn cost(&self) -> f64 {
        let of = |account: &Account| {
            // Tokens of a run stay far below 2^53.
            let tokens = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
            let price = account.price.as_ref()?;
            Some(price.cost(tokens(&account.prompt_tokens), tokens(&account.completion_tokens)))
        };
        self.accounts.values().filter_map(of).sum()
    }

    #[cfg(test)]
    pub(crate) fn unlimited() -> Spending {
        Spending {
            budget: BudgetSpec::default(),
            accounts: HashMap::new(),
            failures: AtomicU64::new(0),
            used_up: OnceLock::new(),
            unrecorded: Mutex::default(),
            uncounted: AtomicU64::new(0),
        }
    }
}

/// What each judge took for an answer, by its backend.
fn judged<'p>(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_of_failures_allows_so_many() {
        let spending = Spending {
            budget: BudgetSpec { max_failures: Some(1), ..BudgetSpec::default() },
            ..Spending::unlimited()
        };
        let stop = Stop::default();
        spending.failed(&stop);
        assert!(!stop.is_set());
        spending.failed(&stop);
        let reason = stop.reason().expect("a budget");
        assert_eq!(reason, StopReason::Budget("max_failures 1: 2 samples failed".to_owned()));
        // What was in flight failed, too.
        spending.failed(&stop);
        let at_end = spending.at_end(reason);
        assert_eq!(at_end, StopReason::Budget("max_failures 1: 3 samples failed".to_owned()));
    }

    #[tokio::test]
    async fn what_no_record_tells_is_kept() {
        let spending = Spending {
            accounts: HashMap::from([(
                "a".to_owned(),
                Account {
                    backend_id: "a".into(),
                    price: None,
                    prompt_tokens: AtomicU64::new(0),
                    completion_tokens: AtomicU64::new(0),
                },
            )]),
            ..Spending::unlimited()
        };
        let usage = |tokens| Usage { prompt_tokens: tokens, completion_tokens: 1 };
        noting(async {
            spending.spend("a", Some(usage(5)), &Stop::default());
            recorded();
            spending.spend("a", Some(usage(7)), &Stop::default());
            spending.spend("a", Some(usage(9)), &Stop::default());
            spending.unrecorded();
            spending.unrecorded();
            // What a record tells is left.
            spending.spend("a", Some(usage(11)), &Stop::default());
            let told = open();
            spending.spend("a", Some(usage(13)), &Stop::default());
            spending.unrecorded_since(told);
            recorded();
        })
        .await;
        let kept = Usage { prompt_tokens: 29, completion_tokens: 3 };
        assert_eq!(spending.all_unrecorded(), BTreeMap::from([("a".to_owned(), kept)]));
        assert_eq!(spending.spent().prompt_tokens, 45);
    }

    #[test]
    fn tokens_and_cost_are_those_of_all_backends() {
        let price = PriceSpec {
            of: gage_config::Priced::Backend("a".to_owned()),
            prompt: 2.0,
            completion: 10.0,
            span: gage_config::Span { source: 0, start: 0, end: 0 },
        };
        let account = |price: Option<PriceSpec>| Account {
            backend_id: "".into(),
            price,
            prompt_tokens: AtomicU64::new(0),
            completion_tokens: AtomicU64::new(0),
        };
        let spending = Spending {
            budget: BudgetSpec { max_cost: Some(0.01), ..BudgetSpec::default() },
            accounts: HashMap::from([
                ("a".to_owned(), account(Some(price))),
                ("b".to_owned(), account(None)),
            ]),
            ..Spending::unlimited()
        };
        let (spending, stop) = (Arc::new(spending), Stop::default());
        let usage = Some(Usage { prompt_tokens: 1_000, completion_tokens: 500 });
        spending.spend("a", usage, &stop);
        spending.spend("b", usage, &stop);
        spending.spend("b", None, &stop);
        let spent = spending.spent();
        assert_eq!((spent.prompt_tokens, spent.completion_tokens, spent.uncounted), (2_000, 1_000, 1));
        assert!(spent.cost.is_some_and(|cost| (cost - 0.007).abs() < 1e-12) && !stop.is_set());
        spending.spend("a", usage, &stop);
        assert!(matches!(stop.reason(), Some(StopReason::Budget(text)) if text.starts_with("max_cost 0.01")));
    }
}

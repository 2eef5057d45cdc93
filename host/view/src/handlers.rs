//! What each address answers.

use crate::listing::{Listing, is_live};
use crate::live::{self, Followers};
use crate::pages::Pages;
use crate::refusal::Refusal;
use crate::reporting::Reporter;
use crate::root::RunsRoot;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use gage_history::HistoryError;
use gage_report::html::{Rendered, report_policy};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Most runs on one page.
const MOST_COMPARED: usize = 8;

/// What all requests share.
pub(crate) struct Shared {
    root: RunsRoot,
    pages: Pages,
    listing: Listing,
    followers: Followers,
    reporter: Reporter,
    report_policy: String,
}

type App = State<Arc<Shared>>;

impl Shared {
    pub(crate) fn open(root: RunsRoot) -> Result<Shared, HistoryError> {
        Ok(Shared {
            listing: Listing::open(&root)?,
            root,
            pages: Pages::new(),
            followers: Followers::default(),
            reporter: Reporter::default(),
            report_policy: report_policy(),
        })
    }
}

pub(crate) fn router(shared: Shared) -> Router {
    Router::new()
        .route("/", get(runs_page))
        .route("/history", get(history_page))
        .route("/compare", get(compare))
        .route("/runs/{name}", get(run))
        .route("/runs/{name}/report", get(report))
        .route("/data/runs", get(runs))
        .route("/data/runs/{name}", get(run_now))
        .route("/data/history", get(history))
        .fallback(nothing)
        .with_state(Arc::new(shared))
}

async fn runs_page(State(shared): App) -> Response {
    page(&shared.pages.runs)
}

async fn history_page(State(shared): App) -> Response {
    page(&shared.pages.history)
}

/// The report of a run, or, while it goes on, what is known of it.
async fn run(state: App, Path(name): Path<String>) -> Response {
    let shared = Arc::clone(&state.0);
    let looked = blocking(move || shared.root.run(&name).map(|folder| (is_live(&folder), folder))).await;
    match looked {
        Ok(Some((true, _))) => page(&state.0.pages.live),
        Ok(Some((false, folder))) => reported(&state.0, vec![folder]).await,
        Ok(None) => no_run(),
        Err(response) => response,
    }
}

/// The report of a run as far as it is.
async fn report(state: App, Path(name): Path<String>) -> Response {
    let shared = Arc::clone(&state.0);
    match blocking(move || shared.root.run(&name)).await {
        Ok(Some(folder)) => reported(&state.0, vec![folder]).await,
        Ok(None) => no_run(),
        Err(response) => response,
    }
}

/// The report of the runs that the query names: `run=BASE&run=NEW`.
async fn compare(state: App, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let mut names: Vec<String> =
        pairs.filter(|(key, _)| key == "run").map(|(_, value)| value.into_owned()).collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    if !(2..=MOST_COMPARED).contains(&names.len()) {
        let message = format!("name from 2 to {MOST_COMPARED} runs, as in /compare?run=BASE&run=NEW");
        return refused(StatusCode::BAD_REQUEST, &message);
    }
    let shared = Arc::clone(&state.0);
    let folders =
        blocking(move || names.iter().map(|name| shared.root.run(name)).collect::<Option<Vec<_>>>());
    match folders.await {
        Ok(Some(folders)) => reported(&state.0, folders).await,
        Ok(None) => no_run(),
        Err(response) => response,
    }
}

async fn reported(shared: &Shared, folders: Vec<PathBuf>) -> Response {
    match shared.reporter.write(folders).await {
        Ok(pieces) => (html_headers(&shared.report_policy), Body::from_stream(pieces)).into_response(),
        Err(refusal) => refused_by(&refusal),
    }
}

async fn runs(State(shared): App) -> Response {
    answered(blocking(move || shared.listing.read(&shared.root).and_then(|listed| to_json(&listed))).await)
}

/// The history of the suite that the query names: `suite=NAME`.
async fn history(State(shared): App, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let suite = pairs.find(|(key, _)| key == "suite").map(|(_, value)| value.into_owned());
    let read =
        move || shared.listing.history(&shared.root, suite.as_deref().filter(|suite| !suite.is_empty()));
    answered(blocking(move || read().and_then(|history| to_json(&history))).await)
}

fn to_json(value: &impl Serialize) -> Result<String, Refusal> {
    serde_json::to_string(value).map_err(|error| Refusal::Failed(error.to_string()))
}

fn answered(read: Result<Result<String, Refusal>, Response>) -> Response {
    match read {
        Ok(Ok(text)) => json(text),
        Ok(Err(refusal)) => refused_by(&refusal),
        Err(response) => response,
    }
}

async fn run_now(State(shared): App, Path(name): Path<String>) -> Response {
    let looked = blocking(move || {
        let folder = shared.root.run(&name)?;
        Some(shared.followers.look(&folder).map_err(|error| live::refusal(&error, &folder)))
    });
    match looked.await {
        Ok(Some(Ok(text))) => json(text.to_string()),
        Ok(Some(Err(refusal))) => refused_by(&refusal),
        Ok(None) => no_run(),
        Err(response) => response,
    }
}

async fn nothing() -> Response {
    refused(StatusCode::NOT_FOUND, "there is nothing here; the runs are at /")
}

/// Reads files on a thread for it.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Response> {
    let failed = |_| refused(StatusCode::INTERNAL_SERVER_ERROR, "the server failed at this request");
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

fn no_run() -> Response {
    refused(StatusCode::NOT_FOUND, "there is no such run in this folder; the runs are at /")
}

fn refused_by(refusal: &Refusal) -> Response {
    refused(refusal.status(), refusal.reason())
}

/// What is wrong, as text: it may hold anything.
fn refused(status: StatusCode, message: &str) -> Response {
    let text = format!("{}\n", gage_core::printable(message));
    (status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

fn json(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

fn page(page: &Rendered) -> Response {
    (html_headers(&page.policy), page.html.clone()).into_response()
}

fn html_headers(policy: &str) -> [(axum::http::HeaderName, String); 2] {
    let policy = format!("{policy}; frame-ancestors 'none'");
    [(CONTENT_TYPE, "text/html; charset=utf-8".to_owned()), (CONTENT_SECURITY_POLICY, policy)]
}

//! Handlers of the server's routes.

use crate::ViewError;
use crate::listing::{Listing, is_live};
use crate::live::{self, Followers};
use crate::notes::{NoteFiles, SampleNote};
use crate::pages::Pages;
use crate::paging::{PageBuilds, read_block};
use crate::refusal::Refusal;
use crate::reporting::Reporter;
use crate::root::{RunsRoot, run_of_shard};
use crate::search::{SearchQuery, Searches};
use crate::shards::ShardFollowers;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use gage_html::{PageBlock, RenderedPage, report_policy};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of runs on one page.
const MAX_COMPARED_RUNS: usize = 8;

/// Maximum size of a request with a note.
const MAX_NOTE_REQUEST_BYTES: usize = 256 << 10;
/// Time limit for the content of such a request.
const NOTE_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Header with the token of a page.
const TOKEN_HEADER: &str = "x-gage-token";

/// State shared by all requests.
pub(crate) struct AppState {
    root: RunsRoot,
    pages: Pages,
    listing: Listing,
    followers: Followers,
    shards: ShardFollowers,
    notes: NoteFiles,
    reporter: Reporter,
    builds: PageBuilds,
    searches: Searches,
    report_policy: String,
}

type App = State<Arc<AppState>>;

impl AppState {
    pub(crate) fn open(root: RunsRoot, reporter: Reporter) -> Result<AppState, ViewError> {
        Ok(AppState {
            listing: Listing::open(&root)?,
            root,
            pages: Pages::new()?,
            followers: Followers::default(),
            shards: ShardFollowers::default(),
            notes: NoteFiles::default(),
            reporter,
            builds: PageBuilds::default(),
            searches: Searches::default(),
            report_policy: report_policy()?,
        })
    }
}

pub(crate) fn router(shared: AppState) -> Router {
    Router::new()
        .route("/", get(runs_page))
        .route("/history", get(history_page))
        .route("/compare", get(compare))
        .route("/runs/{name}", get(run))
        .route("/runs/{name}/report", get(report))
        .route("/runs/{name}/shards", get(shards_page))
        .route("/data/runs", get(runs))
        .route("/data/runs/{name}", get(run_now))
        .route("/data/runs/{name}/shards", get(shards))
        .route("/data/runs/{name}/sample", get(sample))
        .route("/data/runs/{name}/page", get(page_status))
        .route("/data/runs/{name}/columns/{number}", get(columns))
        .route("/data/runs/{name}/excerpts/{number}", get(excerpts))
        .route("/data/runs/{name}/search", get(search))
        .route("/data/runs/{name}/notes", get(notes).post(save_note))
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

/// Name in an address; an address may contain invalid text.
type Name = Result<Path<String>, PathRejection>;

/// Returns the report of a run, its live view while it is in progress, or its shards if they are not merged.
async fn run(state: App, name: Name, RawQuery(query): RawQuery) -> Response {
    run_page(state, name, query, true).await
}

/// Returns the report of a run, even while it is in progress.
async fn report(state: App, name: Name, RawQuery(query): RawQuery) -> Response {
    run_page(state, name, query, false).await
}

/// The page of a run.
enum RunPage {
    Live,
    /// With the shards of a run that is not merged.
    Shards,
    /// Without its samples.
    Paged(Vec<u8>),
    /// With all samples of the run in this folder.
    Full(PathBuf),
}

/// Returns the page of a run. A query `whole` asks for a page with all samples, even if there are many.
async fn run_page(State(shared): App, name: Name, query: Option<String>, may_be_live: bool) -> Response {
    let Ok(Path(name)) = name else { return no_run(None) };
    let (state, of_run) = (Arc::clone(&shared), name.clone());
    let is_whole = query.is_some_and(|query| value_of(&query, "whole").is_some());
    let found = blocking(move || {
        let Some(folder) = state.root.run(&of_run) else {
            return state.root.sharded_run(&of_run).map(|_| RunPage::Shards);
        };
        if may_be_live && is_live(&folder) {
            return Some(RunPage::Live);
        }
        let paged = if is_whole { None } else { state.reporter.paged(&folder, run_of_shard(&of_run)) };
        Some(paged.map_or(RunPage::Full(folder), RunPage::Paged))
    });
    match found.await {
        Ok(Some(RunPage::Live)) => page(&shared.pages.live),
        Ok(Some(RunPage::Shards)) => page(&shared.pages.shards),
        Ok(Some(RunPage::Paged(html))) => (html_headers(&shared.report_policy), html).into_response(),
        Ok(Some(RunPage::Full(folder))) => reported(&shared, vec![folder], run_of_shard(&name)).await,
        Ok(None) => no_run(Some(&name)),
        Err(response) => response,
    }
}

/// Returns the page with the shards of a run, even if they are merged.
async fn shards_page(State(shared): App, name: Name) -> Response {
    let Ok(Path(name)) = name else { return no_run(None) };
    let (state, of_run) = (Arc::clone(&shared), name.clone());
    match blocking(move || state.root.sharded_run(&of_run)).await {
        Ok(Some(_)) => page(&shared.pages.shards),
        Ok(None) => no_run(Some(&name)),
        Err(response) => response,
    }
}

/// Returns the first value of a key in a query.
fn value_of(query: &str, key: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == key).map(|(_, value)| value.into_owned())
}

/// Returns the report of the runs named in the query: `run=BASE&run=NEW`.
async fn compare(state: App, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let mut names: Vec<String> =
        pairs.filter(|(key, _)| key == "run").map(|(_, value)| value.into_owned()).collect();
    let asked = names.len();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    if !(2..=MAX_COMPARED_RUNS).contains(&names.len()) {
        let message = match names.as_slice() {
            [name] if asked > 1 => format!(
                "The run '{name}' is named {asked} times: there is nothing to compare it with. Choose another run in the list."
            ),
            names => format!(
                "{} named here; a comparison has from 2 to {MAX_COMPARED_RUNS}, the baseline first, as in \
                 /compare?run=BASE&run=NEW. They can be chosen in the list of runs.",
                match names.len() {
                    0 => "No run is".to_owned(),
                    1 => "One run is".to_owned(),
                    many => format!("{many} runs are"),
                }
            ),
        };
        return refused_page(StatusCode::BAD_REQUEST, "Nothing to compare", &message);
    }
    let shared = Arc::clone(&state.0);
    let found = |shared: &AppState, name: String| shared.root.run(&name).ok_or(name);
    let folders =
        blocking(move || names.into_iter().map(|name| found(&shared, name)).collect::<Result<Vec<_>, _>>());
    match folders.await {
        Ok(Ok(folders)) => reported(&state.0, folders, None).await,
        Ok(Err(name)) => no_run(Some(&name)),
        Err(response) => response,
    }
}

async fn reported(shared: &AppState, folders: Vec<PathBuf>, of_run: Option<&str>) -> Response {
    match shared.reporter.write(folders, of_run).await {
        Ok(pieces) => (html_headers(&shared.report_policy), Body::from_stream(pieces)).into_response(),
        Err(refusal) => {
            let title = "There is no report";
            refused_page(refusal.status(), title, refusal.reason())
        }
    }
}

async fn runs(State(shared): App) -> Response {
    answered(blocking(move || shared.listing.read(&shared.root).and_then(|listed| to_json(&listed))).await)
}

/// Returns the history of the suite named in the query: `suite=NAME`.
async fn history(State(shared): App, RawQuery(query): RawQuery) -> Response {
    let suite = query.and_then(|query| value_of(&query, "suite"));
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

async fn run_now(State(shared): App, name: Name) -> Response {
    let Ok(Path(name)) = name else { return refused(StatusCode::NOT_FOUND, NO_RUN) };
    let found = blocking(move || {
        let folder = shared.root.run(&name)?;
        Some(shared.followers.snapshot_of(&folder).map_err(|error| live::refusal(&error, &folder)))
    });
    match found.await {
        Ok(Some(Ok(text))) => json(text.to_string()),
        Ok(Some(Err(refusal))) => refused_by(&refusal),
        Ok(None) => refused(StatusCode::NOT_FOUND, NO_RUN),
        Err(response) => response,
    }
}

/// Returns how far the shards of a run are.
async fn shards(State(shared): App, name: Name) -> Response {
    let Ok(Path(name)) = name else { return refused(StatusCode::NOT_FOUND, NO_RUN) };
    let read = move || {
        let folder = shared.root.sharded_run(&name).ok_or_else(|| Refusal::Unknown(NO_RUN.to_owned()))?;
        shared.shards.snapshot_of(&shared.root, &folder).map(|text| text.to_string())
    };
    answered(blocking(read).await)
}

/// Returns everything about the sample named in the query: `task=ID&index=NUMBER`. With `quick=1`, its requests and times may be missing.
async fn sample(State(shared): App, name: Name, RawQuery(query): RawQuery) -> Response {
    let Ok(Path(name)) = name else { return refused(StatusCode::NOT_FOUND, NO_RUN) };
    let query = query.unwrap_or_default();
    let index = value_of(&query, "index").and_then(|index| index.parse::<u64>().ok());
    let (Some(task_id), Some(index)) = (value_of(&query, "task"), index) else {
        return refused(StatusCode::BAD_REQUEST, "name a sample, as in ?task=ID&index=0");
    };
    let is_quick = value_of(&query, "quick").is_some();
    let read = move || {
        let folder = shared.root.run(&name).ok_or_else(|| Refusal::Unknown(NO_RUN.to_owned()))?;
        shared.reporter.sample(&folder, &task_id, index, is_quick)
    };
    answered(blocking(read).await)
}

/// Returns which blocks of a run's page there are. Begins to build them if there are none.
async fn page_status(State(shared): App, name: Name) -> Response {
    let Ok(Path(name)) = name else { return refused(StatusCode::NOT_FOUND, NO_RUN) };
    let read = move || {
        let folder = shared.root.run(&name).ok_or_else(|| Refusal::Unknown(NO_RUN.to_owned()))?;
        shared.builds.status(&folder).and_then(|status| to_json(&status))
    };
    answered(blocking(read).await)
}

/// Name of a run and number of a block in an address.
type BlockName = Result<Path<(String, usize)>, PathRejection>;

async fn columns(state: App, name: BlockName) -> Response {
    block(state, name, PageBlock::Columns).await
}

async fn excerpts(state: App, name: BlockName) -> Response {
    block(state, name, PageBlock::Excerpts).await
}

/// Returns a block of a run's page. The browser unpacks it.
async fn block(State(shared): App, name: BlockName, kind: PageBlock) -> Response {
    let Ok(Path((name, number))) = name else { return refused(StatusCode::NOT_FOUND, NO_RUN) };
    let read = move || {
        let folder = shared.root.run(&name).ok_or_else(|| Refusal::Unknown(NO_RUN.to_owned()))?;
        read_block(&folder, kind, number)
    };
    match blocking(read).await {
        Ok(Ok(bytes)) => {
            let headers = [(CONTENT_TYPE, "application/octet-stream"), (CONTENT_ENCODING, "gzip")];
            (headers, bytes).into_response()
        }
        Ok(Err(refusal)) => refused_by(&refusal),
        Err(response) => response,
    }
}

/// Streams the rows of the samples whose texts hold the text in the query: `q=TEXT`.
async fn search(State(shared): App, name: Name, RawQuery(query): RawQuery) -> Response {
    let Ok(Path(name)) = name else { return refused(StatusCode::NOT_FOUND, NO_RUN) };
    let text = query.and_then(|query| value_of(&query, "q")).unwrap_or_default();
    let Some(query) = SearchQuery::new(&text) else {
        return refused(StatusCode::BAD_REQUEST, "name a text of up to 10,000 bytes, as in ?q=TEXT");
    };
    let state = Arc::clone(&shared);
    match blocking(move || state.root.run(&name)).await {
        Ok(Some(folder)) => match shared.searches.start(folder, query).await {
            Ok(pieces) => ([(CONTENT_TYPE, "application/jsonl")], Body::from_stream(pieces)).into_response(),
            Err(refusal) => refused_by(&refusal),
        },
        Ok(None) => refused(StatusCode::NOT_FOUND, NO_RUN),
        Err(response) => response,
    }
}

async fn notes(State(shared): App, name: Name) -> Response {
    let Ok(Path(name)) = name else { return refused(StatusCode::NOT_FOUND, NO_RUN) };
    let read = move || {
        let folder = shared.root.run(&name).ok_or_else(|| Refusal::Unknown(NO_RUN.to_owned()))?;
        shared.notes.read(&folder).and_then(|notes| to_json(&notes))
    };
    answered(blocking(read).await)
}

/// Saves a note about a sample, if a page of this server sent it.
async fn save_note(State(shared): App, name: Name, request: Request) -> Response {
    let Ok(Path(name)) = name else { return refused(StatusCode::NOT_FOUND, NO_RUN) };
    let is_of_own_page = is_of_own_page(request.headers(), shared.reporter.token());
    let body = axum::body::to_bytes(request.into_body(), MAX_NOTE_REQUEST_BYTES);
    let Ok(Ok(body)) = tokio::time::timeout(NOTE_REQUEST_TIMEOUT, body).await else {
        return refused(StatusCode::BAD_REQUEST, "the note did not arrive, or is too long");
    };
    if !is_of_own_page {
        return refused(StatusCode::FORBIDDEN, "only a page of this viewer can save a note; load it again");
    }
    let note: SampleNote = match serde_json::from_slice(&body) {
        Ok(note) => note,
        Err(error) => return refused(StatusCode::BAD_REQUEST, &format!("this is not a note: {error}")),
    };
    if let Some(problem) = note.problem() {
        return refused(StatusCode::BAD_REQUEST, &problem);
    }
    let save = move || {
        let folder = shared.root.run(&name).ok_or_else(|| Refusal::Unknown(NO_RUN.to_owned()))?;
        shared.notes.save(&folder, note).map(|()| "true".to_owned())
    };
    answered(blocking(save).await)
}

/// Returns whether a request is from a page of this server. A browser names the site of the page in `Origin`, and only
/// pages of this process have the token.
fn is_of_own_page(headers: &HeaderMap, token: &str) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text(ORIGIN.as_str()).unwrap_or_default();
    let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    site.is_some() && site == text(HOST.as_str()) && text(TOKEN_HEADER) == Some(token)
}

async fn nothing(address: Uri) -> Response {
    if address.path().starts_with("/data/") {
        return refused(StatusCode::NOT_FOUND, "there is nothing here; the runs are at /");
    }
    let message = "There is nothing at this address. The runs are in the list.";
    refused_page(StatusCode::NOT_FOUND, "Nothing here", message)
}

/// Reads files on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Response> {
    let failed = |_| refused(StatusCode::INTERNAL_SERVER_ERROR, "the server failed at this request");
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

/// Message to programs about an unknown run.
const NO_RUN: &str = "there is no such run in this folder; the runs are at /";

/// Returns the page about an unknown run, with the requested name if it is valid.
fn no_run(name: Option<&str>) -> Response {
    let which = name.map_or_else(|| "no such run".to_owned(), |name| format!("no run '{name}'"));
    let message = format!(
        "There is {which} in this folder: it may have been deleted or moved, or its name is another. The runs that are there are in \
         the list."
    );
    refused_page(StatusCode::NOT_FOUND, "No such run", &message)
}

/// Returns a page that explains why there is nothing to see.
fn refused_page(status: StatusCode, title: &str, message: &str) -> Response {
    match Pages::refusal(title, message) {
        Ok(refusal) => (status, page(&refusal)).into_response(),
        Err(_) => refused(status, &format!("{title}: {message}")),
    }
}

fn refused_by(refusal: &Refusal) -> Response {
    refused(refusal.status(), refusal.reason())
}

/// Returns an error as plain text, because it may contain anything.
fn refused(status: StatusCode, message: &str) -> Response {
    let text = format!("{}\n", gage_core::printable(message));
    (status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

fn json(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

fn page(page: &RenderedPage) -> Response {
    (html_headers(&page.policy), page.html.clone()).into_response()
}

fn html_headers(policy: &str) -> [(axum::http::HeaderName, String); 2] {
    let policy = format!("{policy}; frame-ancestors 'none'");
    [(CONTENT_TYPE, "text/html; charset=utf-8".to_owned()), (CONTENT_SECURITY_POLICY, policy)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    #[test]
    fn only_a_page_of_this_process_may_save_a_note() {
        let is_own = |pairs: &[(&'static str, &'static str)]| {
            let header = |&(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            is_of_own_page(&pairs.iter().map(header).collect(), "secret")
        };
        let host = ("host", "localhost:7878");
        let (origin, token) = (("origin", "http://localhost:7878"), (TOKEN_HEADER, "secret"));
        assert!(is_own(&[host, origin, token]));
        for refused in [
            &[host, token][..],
            &[host, origin],
            &[host, origin, (TOKEN_HEADER, "other")],
            &[host, ("origin", "http://localhost:80"), token],
            &[host, ("origin", "http://evil.example"), token],
            &[host, ("origin", "null"), token],
            &[host, ("origin", "localhost:7878"), token],
            &[origin, token],
        ] {
            assert!(!is_own(refused), "{refused:?}");
        }
    }
}

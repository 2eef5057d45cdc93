// What only the page of a server has: notes and labels of a person, and texts that are not in the page.

/** The server that sent the page: {token}. Null for a file. */
let pageServer = null;
/** Notes by sample: {label, note}. */
const notes = new Map();

const noteKey = (run, task, index, id) => JSON.stringify([run, task, index, id]);
const noteOf = (row, id = idOf(row)) => notes.get(noteKey(rows.run[row], names.tasks[rows.task[row]], rows.index[row], id));

/** Names of the run folders of the page, as they stand in its address. */
function folderNames() {
  const [, page, name] = location.pathname.split("/");
  if (page === "runs") return [decodeURIComponent(name)];
  return [...new Set(new URLSearchParams(location.search).getAll("run"))];
}

const dataAddress = (run, what) => `/data/runs/${encodeURIComponent(folderNames()[run])}/${what}`;

/** Asks the server for the texts of a sample. */
async function askForText(row, isQuick) {
  const query = new URLSearchParams({ task: names.tasks[rows.task[row]], index: rows.index[row], ...(isQuick ? { quick: 1 } : {}) });
  const response = await fetch(dataAddress(rows.run[row], `sample?${query}`));
  const text = await response.text();
  if (!response.ok) throw new Error(visible(text.trim()));
  return JSON.parse(text);
}

async function findServer() {
  if (!pageServer && blocks("server").length > 0) pageServer = JSON.parse(await unpackAt("server", 0));
  return pageServer;
}

/** Reads the notes of all runs of the page. */
async function readNotes() {
  if (!(await findServer())) return;
  for (let run = 0; run < head.runs.length; run += 1) {
    const response = await fetch(dataAddress(run, "notes"));
    const text = await response.text();
    if (!response.ok) throw new Error(visible(text.trim()));
    for (const note of JSON.parse(text)) notes.set(noteKey(run, note.task_id, note.index, note.sample_id), note);
  }
}

/** The request before, which the next one waits for. */
let lastSaving = Promise.resolve();

/** Saves what a person says about a sample, and says whether that worked. */
function saveNote(row, change, status) {
  const { label = null, note = "" } = { ...noteOf(row), ...change };
  const [run, task] = [rows.run[row], names.tasks[rows.task[row]]];
  const saved = { task_id: task, index: rows.index[row], sample_id: idOf(row), label, note };
  notes.set(noteKey(run, task, rows.index[row], idOf(row)), saved);
  status.textContent = "Saving…";
  lastSaving = lastSaving.then(() => sendNote(run, saved, status));
}

async function sendNote(run, saved, status) {
  try {
    const headers = { "content-type": "application/json", "x-gage-token": pageServer.token };
    const response = await fetch(dataAddress(run, "notes"), { method: "POST", headers, body: JSON.stringify(saved) });
    if (!response.ok) throw new Error((await response.text()).trim());
    status.textContent = "Saved.";
    showRows();
  } catch (error) {
    status.textContent = `Not saved: ${visible(error.message)}`;
  }
}

/** What a person can say about an answer. */
function noteFields(row) {
  if (!pageServer) return [];
  const known = noteOf(row);
  const status = make("span", { class: "soft", role: "status" });
  const choice = (text, label) => make("button", { type: "button", "data-label": String(label), "aria-pressed": String((noteOf(row)?.label ?? null) === label), click: (event) => {
    for (const button of event.currentTarget.parentElement.querySelectorAll("[data-label]")) button.setAttribute("aria-pressed", String(button === event.currentTarget));
    saveNote(row, { label }, status);
  } }, text);
  const field = make("textarea", { rows: 2, maxlength: 5000, "aria-label": "Note", placeholder: "a note", change: (event) => saveNote(row, { note: event.currentTarget.value }, status) });
  field.value = known?.note ?? "";
  return [make("h3", {}, "Your label and note"), make("div", { class: "note" }, choice("Right", 1), choice("Half", 0.5), choice("Wrong", 0), choice("No label", null), status), field];
}

/** A label and a note in one line of the list. */
function noteLine(row) {
  const { label, note } = noteOf(row) ?? {};
  const word = { 1: "right", 0.5: "half", 0: "wrong" }[label] ?? (label === null || label === undefined ? "" : score(label));
  return visible([word, note?.replace(/\s+/g, " ")].filter(Boolean).join(": "));
}

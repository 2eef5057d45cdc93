// Copies samples, and writes marked or listed ones as JSON Lines. All of it is made in the browser.

/** Samples that are marked, by their rows. */
const marked = new Set();

function mark(row) {
  if (!marked.delete(row)) marked.add(row);
  showRows();
  showMarks();
}

/** What is written of a sample: where it is from, what came of it, and its texts where the page has them. */
function exported(row, text) {
  const scores = Object.fromEntries(names.metrics.flatMap((name, metric) => (Number.isNaN(rows.scores[metric][row]) ? [] : [[name, rows.scores[metric][row]]])));
  // Of a page in blocks, only the texts have the id of each sample.
  const id = text?.id ?? idOf(row);
  return {
    run_id: head.runs[rows.run[row]].run_id, task_id: names.tasks[rows.task[row]], index: rows.index[row], sample_id: id,
    outcome: names.outcomes[rows.outcome[row]], scores, person: noteOf(row, id), ...(text ? { ...text, id: undefined } : { has_texts: false }),
  };
}

/** Puts a text where it can be pasted. Its button says so for a moment. */
async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A file or another machine may not use the clipboard directly.
    const field = make("textarea", { class: "unseen" });
    field.value = text;
    (byId("detail").open ? byId("detail") : document.body).append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1200);
}

/** Writes the marked samples, or else the listed ones, as a file. */
async function exportSamples() {
  const chosenRows = marked.size > 0 ? [...marked].sort((one, other) => one - other) : [...selected];
  const lines = [];
  let shown = performance.now();
  for (const row of chosenRows) {
    lines.push(`${JSON.stringify(exported(row, await textOf(row)))}\n`);
    if (performance.now() - shown > 200) {
      say(selected.length, rows.length, `; writing, ${Math.floor((100 * lines.length) / chosenRows.length)} %`);
      await breathe();
      shown = performance.now();
    }
  }
  const address = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
  make("a", { href: address, download: `${head.runs[0].run_id.replace(/[^\w.-]+/g, "-")}-samples.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  say(selected.length, rows.length);
}

/** Says what the button of the export would write. */
function showMarks() {
  byId("export").textContent = marked.size > 0 ? `Export ${count(marked.size)} marked` : `Export ${count(selected.length)} listed`;
  byId("export").disabled = marked.size === 0 && selected.length === 0;
  byId("unmark").hidden = marked.size === 0;
}

function listenToExport() {
  byId("export").addEventListener("click", () => exportSamples().catch((error) => complain(`The samples cannot be written: ${error.message}.`)));
  byId("unmark").addEventListener("click", () => { marked.clear(); showRows(); showMarks(); });
}

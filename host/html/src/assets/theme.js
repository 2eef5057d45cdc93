// Light or dark, system or the reader says.

function chooseTheme() {
  const select = byId("theme");
  // A page that was opened from a file may have no storage.
  const stored = (() => { try { return localStorage.getItem("gage-theme") ?? ""; } catch { return ""; } })();
  const apply = (theme) => { if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme; };
  select.value = stored;
  apply(stored);
  select.addEventListener("change", () => {
    apply(select.value);
    try { localStorage.setItem("gage-theme", select.value); } catch { /* It lasts as long as the page. */ }
  });
}

// What the pages of the viewer share: asking its server, and showing runs.

const GONE = "The viewer does not respond. It has ended or cannot be reached, so this page is no longer updated.";
/** How long a page that nobody sees waits at least, in milliseconds. */
const UNSEEN_PAUSE = 10000;

/** Shows what an address answers, again and again, at once when somebody looks again. */
function follow(address, show, pause) {
  let last = null;
  let timer = 0;
  let isAsking = false;
  const once = async () => {
    let next = pause;
    isAsking = true;
    try {
      const response = await fetch(address).catch(() => { throw new Error(GONE); });
      const text = await response.text();
      if (!response.ok) throw new Error(visible(text.trim()));
      // What is the same is not drawn again, so that what is chosen or read stays as it is.
      if (text !== last) next = show(JSON.parse(text)) ?? pause;
      last = text;
      byId("notice").hidden = true;
    } catch (error) {
      last = null;
      complain(error.message);
    }
    isAsking = false;
    document.documentElement.dataset.ready = "";
    timer = next === Infinity ? 0 : setTimeout(once, document.hidden ? Math.max(next, UNSEEN_PAUSE) : next);
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || isAsking || timer === 0) return;
    clearTimeout(timer);
    once();
  });
  once();
}

/** A name, of which a line may end behind a sign between its words. */
const inWords = (name) => visible(name).split(/(?<=[-_.:/])(?=[^-_.:/])/u).flatMap((word, place) => (place > 0 ? [make("wbr"), word] : [word]));

const runAddress = (name) => `/runs/${encodeURIComponent(name)}`;
const time = (text) => (text ? text.replace("T", " ").replace(/(:\d\d)(:\d\d).*$/, "$1") : "–");

/** Where a figure is drawn: the scale that its metric declares, else the numbers of the same metric and 0. */
const boundsOfFigure = (figure, figures) => figure.scale ?? boundsAround([0, ...figures.filter((one) => one.metric_id === figure.metric_id).flatMap(({ value, low, high }) => [value, low, high])]);

/** The interval of a figure within the scale of its metric; null without one. */
function intervalOf({ low, high, scale }) {
  if (low === null || low === undefined) return null;
  return scale ? { low: Math.max(scale[0], low), high: Math.min(scale[1], high) } : { low, high };
}

/** What is done of all, and lighter behind it what awaits its scores. */
function bar(done, awaiting, total) {
  const share = (number) => (total > 0 ? Math.min(1, number / total) : 0);
  return draw("svg", { viewBox: "0 0 130 16", "aria-hidden": "true" },
    draw("rect", { class: "trough", x: 0, y: 4, width: 130, height: 8, rx: 1 }),
    total === null ? null : draw("rect", { class: "mark", "fill-opacity": 0.45, x: 0, y: 4, width: 130 * share(done + awaiting), height: 8, rx: 1 }),
    total === null ? null : draw("rect", { class: "mark", x: 0, y: 4, width: 130 * share(done), height: 8, rx: 1 }));
}

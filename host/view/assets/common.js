// What the pages of the viewer share: asking its server, and showing runs.

/** What an address answers: JSON; an error where it says no. */
async function ask(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.json();
}

/** Shows what an address answers, again and again, sooner while somebody looks. */
function follow(address, show, pause) {
  let last = null;
  const notice = byId("notice");
  const once = async () => {
    let next = pause;
    try {
      const response = await fetch(address);
      const text = await response.text();
      if (!response.ok) throw new Error(text.trim());
      // What is the same is not drawn again, so that what is chosen or read stays as it is.
      if (text !== last) next = show(JSON.parse(text)) ?? pause;
      last = text;
      notice.hidden = true;
    } catch (error) {
      last = null;
      notice.hidden = false;
      notice.textContent = error instanceof TypeError ? "The viewer does not answer: it has ended, or is out of reach. What is seen here is as it was then." : visible(error.message);
    }
    document.documentElement.dataset.ready = "";
    if (next !== Infinity) setTimeout(once, document.hidden ? Math.max(next, 10000) : next);
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) last = null; });
  once();
}

const runAddress = (name) => `/runs/${encodeURIComponent(name)}`;
const time = (text) => (text ? text.replace("T", " ").replace(/(:\d\d)(:\d\d).*$/, "$1") : "–");

/** Where the figures of several runs are drawn: the unit interval where all lie in it. */
function boundsOfFigures(figures) {
  const numbers = figures.flatMap(({ value, low, high }) => [value, low, high]).filter((number) => number !== null && number !== undefined);
  const [low, high] = extent(numbers);
  return low >= 0 && high <= 1 ? [0, 1] : [low, high];
}

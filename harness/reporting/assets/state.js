// -- what the reader chose: in the address, so that a link shows the same -----------------------------------------------
// #place&accuracy=1e-6&clock=wall: the place to go to, then the choices. Only what differs from the default is written.
const STATE = {}, DEFAULTS = {}, heard = {};
const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };

function fromAddress() {
  const parts = location.hash.slice(1).split("&").filter(Boolean);
  const found = Object.fromEntries(parts.filter((p) => p.includes("=")).map((p) => [decoded(p.split("=")[0]), decoded(p.slice(p.indexOf("=") + 1))]));
  return { place: decoded(parts.find((p) => !p.includes("=")) ?? ""), found };
}

function intoAddress(place = fromAddress().place) {
  const said = Object.entries(STATE).filter(([key, value]) => value !== (DEFAULTS[key] ?? ""));
  const parts = [place, ...said.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)].filter(Boolean);
  history.replaceState(null, "", `#${parts.join("&")}`);
}

// A choice with its default; `changed` is called with every new value, by hand or from the address.
function chosen(key, start, changed, valid = () => true) {
  DEFAULTS[key] = start;
  const given = fromAddress().found[key];
  STATE[key] = given !== undefined && valid(given) ? given : start;
  heard[key] = { changed, valid };
}

function choose(key, value) {
  if (STATE[key] === value) return;
  STATE[key] = value;
  intoAddress();
  heard[key].changed(value);
}

// Charts are drawn when they come near, and push what is below them down. The target stays in view until the reader
// moves on.
let destination = null;
const heights = new ResizeObserver(() => destination?.scrollIntoView());
function stayAt(target) {
  destination = target;
  target.scrollIntoView();
  heights.observe(document.body);
}
function moveOn() { destination = null; heights.disconnect(); }
for (const act of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(act, moveOn, { passive: true, capture: true });

// A link opens what it points to: closed sections around its target too.
function goTo(place) {
  const target = place && document.getElementById(place);
  if (!target) return;
  for (let node = target; node; node = node.parentElement?.closest("details")) if (node.tagName === "DETAILS") node.open = true;
  stayAt(target);
  const control = target.matches("details") ? one("summary", target) : target;
  if (!control.hasAttribute("tabindex") && control.tagName !== "SUMMARY") control.setAttribute("tabindex", "-1");
  control.focus({ preventScroll: true });
}

addEventListener("hashchange", () => {
  const { place, found } = fromAddress();
  const choices = location.hash.includes("=");
  for (const [key, { changed, valid }] of Object.entries(heard)) {
    const value = found[key] !== undefined && valid(found[key]) ? found[key] : DEFAULTS[key];
    if (choices && value !== STATE[key]) { STATE[key] = value; changed(value); }
  }
  goTo(place);
  intoAddress(place);
});

// A link to the place where the reader already is changes no address, so that the browser tells nobody.
addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#"]');
  if (link && decoded(link.getAttribute("href").slice(1)) === fromAddress().place) { event.preventDefault(); goTo(fromAddress().place); }
});

one("#theme").addEventListener("click", () => {
  const theme = getComputedStyle(document.documentElement).colorScheme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("marginbench-theme", theme); } catch { /* not remembered */ }
});

"use strict";
// Making elements, writing numbers. Strings enter the page as text nodes and attributes only, never as markup.
const DATA = JSON.parse(document.getElementById("data").textContent);
const SVG = document.querySelector("svg").namespaceURI;
const DRAWN = ["svg", "g", "path", "line", "text", "rect"];
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector, root = document) => root.querySelector(selector);

function make(name, attributes = {}, ...content) {
  const node = DRAWN.includes(name) ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...content.filter((part) => part !== "" && part !== null && part !== undefined));
  return node;
}

// A long name may be broken behind an underscore.
const breakable = (text) => String(text).split(/(?<=_)/).flatMap((part, k) => (k ? [make("wbr"), part] : [part]));

// -- numbers, as the tables that Python renders write them ------------------------------------------------------------
const UNITS = [["s", 1], ["ms", 1e-3], ["µs", 1e-6]];
function digits(x, n) { // n digits without zeros at the end, a power of ten where that is shorter
  const [mantissa, exponent] = x === 0 ? ["0", "0"] : x.toExponential(n - 1).split("e");
  return exponent < -4 || exponent >= n ? `${+mantissa}e${+exponent}` : String(+x.toPrecision(n));
}
const FORMAT = {
  text: (x) => x,
  time: (x) => { const [unit, size] = UNITS.find(([unit, size]) => x >= size || unit === "µs"); return x >= 1000 ? `${x.toFixed(0)} s` : `${digits(x / size, 3)} ${unit}`; },
  gap: (x) => (x === 0 ? "0" : x.toExponential(1).replace("+", "")),
  count: (x) => (x >= 10 && x < 1e6 ? x.toFixed(0) : digits(x, 3)),
  ratio: (x) => (x >= 10 && x < 1e6 ? x.toFixed(0) : digits(x, 3)),
  number: (x) => digits(x, 6),
  objective: (x) => digits(x, 9),
  fraction: ([k, all]) => `${k} / ${all}`,
  interval: ([low, high]) => (high > 1e6 * low ? "0 to ∞" : `${FORMAT.ratio(low)} to ${FORMAT.ratio(high)}`),
  share: (x) => `${Math.floor(100 * x + 0.5)} %`,
  p: (x) => digits(x, 2),
  C: (x) => (x > 1e300 ? "∞" : digits(x, 6)),
};
const written = (kind, x) => (x === null || x === undefined || x === "" ? "" : typeof x === "string" ? x : FORMAT[kind](x));
const power = (k) => "10" + String(k).replace(/[-\d]/g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
const short = (x) => (x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5) ? x.toExponential(1) : String(+x.toPrecision(3)));

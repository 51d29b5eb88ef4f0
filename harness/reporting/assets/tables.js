// -- tables: sorted by a click or a key on the head of a column, again after every redraw -----------------------------------
const sorting = new Map(); // name of a table -> [column, descending]

function compared(a, b, down) { // what has no value goes last, whichever way
  if (a === null || b === null) return (a === null) - (b === null);
  return (typeof a === typeof b ? (a > b) - (a < b) : typeof a === "number" ? -1 : 1) * (down ? -1 : 1);
}
function valueOf(row, k) {
  const cell = row.cells[k], raw = cell?.dataset.v ?? cell?.textContent.trim() ?? "", x = Number(raw);
  return raw === "" ? null : Number.isNaN(x) ? raw.toLowerCase() : x;
}
function sorted(table) {
  const [k, down] = sorting.get(table.dataset.table) ?? [], heads = headsOf(table);
  heads.forEach((head, j) => (j === k ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
  if (k === undefined || table.dataset.sorted === "elsewhere") return;
  for (const body of table.tBodies) {
    const rows = [...body.rows].map((row) => [valueOf(row, k), row]);
    rows.sort(([a], [b]) => compared(a, b, down));
    body.append(...rows.map(([, row]) => row));
  }
}
const headsOf = (table) => [...table.tHead.rows[table.tHead.rows.length - 1].cells];

function sortable(table, changed = () => sorted(table)) {
  headsOf(table).forEach((head, k) => {
    if (one("button", head) || !head.textContent.trim()) return;
    const button = make("button", { type: "button" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const [column, down] = sorting.get(table.dataset.table) ?? [];
      sorting.set(table.dataset.table, [k, column === k && !down]);
      changed();
    });
  });
  sorted(table);
}
all("table.sortable:not([data-sorted])").forEach((table) => sortable(table));

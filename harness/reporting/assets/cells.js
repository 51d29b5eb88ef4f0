// -- all cells: filtered and sorted as data, a page of them at a time as rows ------------------------------------------------
if (DATA.cells) {
  const table = one("#cells table"), body = table.tBodies[0], { columns, count, page, problems } = DATA.cells;
  const raw = (column, k) => (column.names ? column.names[column.values[k]] : column.values[k]);
  const text = columns.map((column) => Array.from({ length: count }, (_, k) => written(column.kind, raw(column, k))));
  const whole = Array.from({ length: count }, (_, k) => text.map((column) => column[k]).join("\n").toLowerCase());
  const named = Object.fromEntries(columns.map((column, j) => [column.name, j]));
  let start = 0;

  function chosenRows() {
    const wanted = STATE.text.toLowerCase();
    const exact = ["status", "dataset", "method"].filter((key) => STATE[key]).map((key) => [text[named[key === "dataset" ? "data set" : key]], STATE[key]]);
    const rows = [];
    for (let k = 0; k < count; k++) if ((!wanted || whole[k].includes(wanted)) && exact.every(([values, value]) => values[k] === value)) rows.push(k);
    const [j, down] = sorting.get("cells") ?? [];
    if (j === undefined) return rows;
    const value = (k) => { const v = raw(columns[j], k); return v === null || v === "" ? null : typeof v === "string" ? v.toLowerCase() : v; };
    return rows.map((k) => [value(k), k]).sort(([a, i], [b, k]) => compared(a, b, down) || i - k).map(([, k]) => k);
  }
  function rowOf(k) {
    return make("tr", {}, ...columns.map((column, j) => {
      if (j === 0) return make("th", { scope: "row", class: "first" }, ...(problems ? [make("a", { href: problems[DATA.cells.problem[k]] }, ...breakable(text[j][k]))] : breakable(text[j][k])));
      if (column.name === "status") return make("td", {}, tag(text[j][k]));
      return make("td", { class: column.kind === "text" ? "wide" : "n", ...(column.kind === "text" && text[j][k].length > 40 ? { title: text[j][k] } : {}) }, text[j][k]);
    }));
  }
  function show() {
    const rows = chosenRows();
    start = Math.max(0, Math.min(start, Math.floor((rows.length - 1) / page) * page));
    body.replaceChildren(...rows.slice(start, start + page).map(rowOf));
    const last = Math.min(start + page, rows.length);
    one("#shown").textContent = rows.length ? `${rows.length > page ? `${start + 1} to ${last} of ` : ""}${rows.length}${rows.length < count ? ` of ${count}` : ""} cells` : `none of ${count} cells`;
    const filters = ["status", "dataset", "method", "text"].filter((key) => STATE[key]).map((key) => `${key === "dataset" ? "data set" : key} ${STATE[key]}`);
    one("#filtered").textContent = filters.length ? ` The filter (${filters.join(", ")}) leaves ${rows.length} of them.` : "";
    one("#earlier").disabled = start === 0;
    one("#later").disabled = last >= rows.length;
    all("#earlier, #later").forEach((button) => (button.hidden = rows.length <= page));
    sorted(table);
  }
  const tag = (status) => { const [sign, tone] = DATA.statuses[status] ?? ["?", "none"]; return make("span", { class: `tag tone-${tone}` }, make("i", {}, sign), status.replaceAll("_", " ")); };
  const inputs = all("#cells [data-filter]"), again = () => { start = 0; inputs.forEach((input) => (input.value = STATE[input.dataset.filter])); show(); };
  for (const input of inputs) {
    const key = input.dataset.filter;
    chosen(key, "", again, (value) => input.tagName !== "SELECT" || [...input.options].some((option) => option.value === value));
    input.value = STATE[key];
    input.addEventListener("input", () => choose(key, input.value));
  }
  one("#earlier").addEventListener("click", () => { start -= page; show(); });
  one("#later").addEventListener("click", () => { start += page; show(); });
  sortable(table, () => { start = 0; show(); });
  if (count > body.rows.length || inputs.some((input) => input.value)) show();
}

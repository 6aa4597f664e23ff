// Tables that sort by a column and are filtered by words; without JavaScript they stand as they are.
"use strict";
(() => {
  const UNITS = { secs: 1, mins: 60, hours: 3600 };
  const NUMBER = /^[~<>≤[\s]*([+\-−]?\d[\d,]*\.?\d*(?:e[+-]?\d+)?)\s*(secs|mins|hours)?/i;
  const FEW = 6; // lines of a table that needs no filter

  // The number with which a text begins, in seconds where it is a time; null for words.
  function number(text) {
    const found = NUMBER.exec(text);
    return found ? Number(found[1].replace(/,/g, "").replace("−", "-")) * (UNITS[found[2]] || 1) : null;
  }

  function compare(a, b) {
    const [x, y] = [number(a), number(b)];
    if (x !== null && y !== null) return x - y;
    if ((x === null) !== (y === null)) return x === null ? 1 : -1;
    return a.localeCompare(b, "en", { numeric: true });
  }

  function sort(table, column, header) {
    const up = header.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    const lines = [...body.rows].map((row) => [row.cells[column].textContent, row]);
    const lacks = (text) => text === "" || text === "–";
    lines.sort(([a], [b]) => lacks(a) - lacks(b) || (up ? 1 : -1) * compare(a, b));
    body.append(...lines.map(([, row]) => row));
  }

  function filter(table, input, said) {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    said.textContent = wanted.length ? `${shown} of ${table.tBodies[0].rows.length} lines` : "";
  }

  // Give a table its buttons and its filter; again after its lines were replaced.
  function enliven(table) {
    [...table.tHead.rows].at(-1)?.querySelectorAll("th").forEach((header, column) => {
      if (header.querySelector("button")) return;
      const button = kfeat.make("button", { type: "button" }, ...header.childNodes);
      button.addEventListener("click", () => sort(table, column, header));
      header.replaceChildren(button);
    });
    if (table.dataset.filtered) return filter(table, ...table.closest(".box").previousElementSibling.children);
    if (table.tBodies[0].rows.length <= FEW) return;
    table.dataset.filtered = "yes";
    const said = kfeat.make("output", {});
    const input = kfeat.make("input", { type: "search", placeholder: "filter", "aria-label": `Filter: ${table.caption.textContent}` });
    input.addEventListener("input", () => filter(table, input, said));
    table.closest(".box").before(kfeat.make("p", { className: "filter" }, input, " ", said));
  }

  kfeat.enliven = enliven;
  document.querySelectorAll("table.sorts").forEach((table) => { if (table.tHead.rows.length) enliven(table); });
})();

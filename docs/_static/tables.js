"use strict";
// Tables sort by a click on a header, long ones have a search, and the row that the address names is marked.
const TABLE = { paging: false, info: false, searching: false, autoWidth: false, order: [] };
const SECONDS = { min: 60, mins: 60, hour: 3600, hours: 3600, day: 86400, days: 86400 };
const FOLDER = document.currentScript.src;

const plain = (cell) => String(cell).replace(/<[^>]*>/g, "").trim();

// Return the first number of a cell, a time in seconds; -Infinity where it begins with none.
function number(cell) {
  const match = /^(?:[~<>[\s]|&[lg]t;)*([+−-]?[\d.,]+(?:e[+-]?\d+)?)\S*\s*(\w*)/.exec(plain(cell));
  if (!match) return -Infinity;
  return Number(match[1].replaceAll(",", "").replace("−", "-")) * (SECONDS[match[2]] ?? 1);
}

// Resolves when DataTables is loaded, which only pages with a table of more than three rows do.
const tables = new Promise((resolve) => {
  addEventListener("DOMContentLoaded", () => {
    const all = [...document.querySelectorAll("article table.table")];
    const long = all.filter((table) => table.tHead && table.tBodies[0].rows.length > 3);
    if (!long.length && !document.getElementById("points")) return;
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet" });
    const script = document.createElement("script");
    [style.href, script.src] = [new URL("dt_bundle.css", FOLDER), new URL("datatables.js", FOLDER)];
    script.addEventListener("load", () => {
      const detect = (cell) => /^(–|∞|)$/.test(plain(cell)) || number(cell) > -Infinity;
      DataTable.type("number", { className: "dt-type-numeric", detect, order: { pre: number } });
      for (const table of long) {
        const rows = [...table.tBodies[0].rows];
        const ordering = rows.every((row) => plain(row.cells[0].innerHTML)); // else rows belong together
        new DataTable(table, { ...TABLE, ordering, searching: rows.length > 12 });
      }
      resolve();
    });
    document.head.append(style, script);
  });
});

// The address has the names of a row: its method; its data and kernel, in cells or in the heading.
addEventListener("load", () => {
  const [method, ...places] = new URLSearchParams(location.search).getAll("row");
  const has = (row) => [...row.cells].some((cell) => cell.textContent.trim() === method);
  const score = (row) => {
    const heading = row.closest("section").querySelector("h1, h2, h3").firstChild.textContent;
    const text = `, ${[heading, ...row.cells].map((part) => (part.textContent ?? part).trim()).join(", ")},`;
    return places.filter((place) => text.includes(`, ${place},`)).length;
  };
  const rows = [...document.querySelectorAll("article tbody tr")].filter(has);
  const most = Math.max(...rows.map(score));
  const marked = rows.filter((row) => score(row) === most);
  for (const row of marked) row.classList.add("marked");
  marked[0]?.scrollIntoView({ block: "center" });
});

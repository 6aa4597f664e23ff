"use strict";
// Tables sort by a click on a header, long ones have a search, and the row that the address names is marked.
const TABLE = { paging: false, info: false, searching: false, autoWidth: false, order: [] };
const SECONDS = { min: 60, mins: 60, hour: 3600, hours: 3600, day: 86400, days: 86400 };

const plain = (html) => String(html).replace(/<[^>]*>/g, "").trim();
const text = (element) => element.textContent.trim();

// Return the first number of a cell, a time in seconds; -Infinity where it begins with none.
function number(html) {
  const match = /^(?:[~[\s]|&[lg]t;)*([+−-]?[\d.,]+(?:e[+-]?\d+)?)\S*\s*(\w*)/.exec(plain(html));
  return match ? match[1].replaceAll(",", "").replace("−", "-") * (SECONDS[match[2]] ?? 1) : -Infinity;
}

const detect = (html) => /^(–|∞|)$/.test(plain(html)) || (plain(html).length < 24 && number(html) > -Infinity);
DataTable.type("number", { className: "dt-type-numeric", detect, order: { pre: number } });
for (const table of document.querySelectorAll("article table.table:has(thead)")) {
  const rows = [...table.tBodies[0].rows];
  const ordering = rows.length > 3 && rows.every((row) => text(row.cells[0])); // else rows belong together
  new DataTable(table, { ...TABLE, ordering, searching: rows.length > 12 });
}

// The address has the names of a row: its method; its data and kernel, in cells or in the heading.
const [method, ...places] = new URLSearchParams(location.search).getAll("row");
const named = (row) => {
  const heading = row.closest("section").querySelector("h1, h2, h3").firstChild.textContent;
  const words = `, ${[heading, ...[...row.cells].map(text)].join(", ")}, `;
  return places.filter((place) => words.includes(`, ${place}, `)).length;
};
const rows = [...document.querySelectorAll("article tbody tr")].filter((row) => [...row.cells].map(text).includes(method));
const most = Math.max(...rows.map(named));
for (const row of rows) row.classList.toggle("marked", named(row) === most);
addEventListener("load", () => document.querySelector(".marked")?.scrollIntoView({ block: "center" }));

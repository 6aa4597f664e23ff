// The page of rows: #CONFIG lists them, #CONFIG:CELL those of a cell, #CONFIG:ID or #ID shows one with all it says.
"use strict";
(() => {
  const { make, get } = kfeat;
  const content = document.getElementById("content");
  const title = document.getElementById("name");

  // Return the function that reads a row's value from a column.
  function reader([, , how, values], cellOf) {
    if (how === "all") return () => values;
    if (how === "cell") return (row) => values[cellOf[row]];
    return (row) => values[row];
  }

  // Return the data of a config with a reader for each column.
  async function load(index, config) {
    const data = await get(`rows ${config}`, index.configs[config][0]);
    if (!data.read) {
      data.cellOf = data.cells.flatMap(([, , size], cell) => Array(size).fill(cell));
      data.read = data.columns.map((column) => [column[0], column[1], reader(column, data.cellOf)]);
      const [, , id] = data.read.find(([section, key]) => section === "trial" && key === "id");
      data.ids = data.cellOf.map((_, row) => id(row));
    }
    return data;
  }

  // Return the configs in whose index an id stands.
  function holders(index, id) {
    const wanted = id.slice(0, index.length);
    return Object.keys(index.configs).filter((config) => {
      const ids = index.configs[config][1];
      for (let at = 0; at < ids.length; at += index.length) {
        if (ids.substr(at, index.length).startsWith(wanted)) return true;
      }
      return false;
    });
  }

  function address(config, part) {
    return `rows.html#${encodeURIComponent(config)}${part ? `:${part}` : ""}`;
  }

  function box(caption, headers, lines) {
    const table = make("table", { className: "sorts" }, make("caption", {}, caption));
    table.append(make("thead", {}, make("tr", {}, ...headers.map((text) => make("th", { scope: "col" }, text)))));
    table.append(make("tbody", {}, ...lines.map((line) => make("tr", {}, ...line.map((cell) => make("td", {}, cell))))));
    return make("div", { className: "box", role: "group", tabIndex: 0, "aria-label": caption }, table);
  }

  function list(data, config, cell) {
    const rows = data.cellOf.map((_, row) => row).filter((row) => cell === undefined || data.cellOf[row] === cell);
    const wanted = data.read.filter(([section, key]) => section === "numbers" || (section === "parameters" && key === "repeat"));
    const shown = wanted.filter(([, , read]) => rows.some((row) => read(row) !== null)).slice(0, 6);
    const status = data.read.find(([, key]) => key === "status")[2];
    const lines = rows.map((row) => [
      make("a", { href: address(config, data.ids[row]) }, data.ids[row].slice(0, 8)),
      data.cells[data.cellOf[row]][1] || "the only cell",
      status(row),
      ...shown.map(([, , read]) => read(row) ?? "–"),
    ]);
    title.textContent = data.title;
    const said = cell === undefined ? "all cells" : data.cells[cell][1] || "the only cell";
    const links = make("p", {}, make("a", { href: data.page }, "What the paper says beside it"), ` · ${said}`);
    if (cell !== undefined) links.append(" · ", make("a", { href: address(config) }, "all rows of the config"));
    content.replaceChildren(links);
    if (cell !== undefined) content.append(uses(data, cell));
    content.append(box(`${rows.length} rows`, ["id", "cell", "status", ...shown.map(([, key]) => key)], lines));
    kfeat.enliven(content.querySelector("table"));
  }

  function uses(data, cell) {
    const said = data.uses.cells[cell].map((use) => {
      const [text, verdict, href] = data.uses.said[use];
      return make("li", {}, make("a", { href }, text), `: ${verdict}`);
    });
    if (!said.length) return make("p", {}, "No printed number and no claim rests on this cell.");
    return make("div", {}, make("h2", {}, "What rests on its cell"), make("ul", {}, ...said));
  }

  function one(data, config, row) {
    const cell = data.cellOf[row];
    const sections = new Map();
    for (const [section, key, read] of data.read) {
      const value = read(row);
      if (value === null) continue;
      if (!sections.has(section)) sections.set(section, []);
      sections.get(section).push(make("dt", {}, key), make("dd", {}, String(value)));
    }
    title.textContent = `Trial ${data.ids[row]}`;
    content.replaceChildren(
      make("p", {}, make("a", { href: data.page }, data.title), " · ", make("a", { href: address(config, data.cells[cell][0]) }, data.cells[cell][1] || "its cell")),
      make("h2", {}, "To run exactly this trial"),
      make("pre", { tabIndex: 0 }, make("code", {}, `kfeat run ${data.path} --only ${data.ids[row]}`)),
      uses(data, cell),
    );
    for (const [section, pairs] of sections) {
      content.append(make("h2", {}, section), make("dl", { className: "facts" }, ...pairs));
    }
  }

  async function show() {
    const wanted = decodeURIComponent(location.hash.slice(1));
    const index = await get("index");
    const at = wanted.lastIndexOf(":");
    const named = at < 0 ? wanted : wanted.slice(0, at);
    const part = at < 0 ? "" : wanted.slice(at + 1);
    if (named in index.configs) {
      const data = await load(index, named);
      const row = part ? data.ids.indexOf(part) : -1;
      if (row >= 0) return one(data, named, row);
      const cell = data.cells.findIndex(([id]) => id === part);
      if (!part || cell >= 0) return list(data, named, part ? cell : undefined);
    } else if (wanted) {
      for (const config of holders(index, wanted)) {
        const data = await load(index, config);
        const row = data.ids.findIndex((id) => id.startsWith(wanted));
        if (row >= 0) return one(data, config, row);
      }
    }
    title.textContent = "Rows";
    const configs = Object.keys(index.configs).map((config) => make("li", {}, make("a", { href: address(config) }, config)));
    content.replaceChildren(make("p", {}, wanted ? `No published row and no config is called ${wanted}.` : "The configs that have rows:"), make("ul", { className: "columns" }, ...configs));
  }

  function safely() {
    show().catch((error) => content.replaceChildren(make("p", {}, `The rows cannot be shown: ${error.message}.`)));
  }
  document.getElementById("seek").addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = event.target.elements.id.value.trim();
  });
  addEventListener("hashchange", safely);
  safely();
})();

"use strict";
// The explorer: five choices, kept in the address; a chart of the chosen CELLS, and a table of them.
const { axes, words, cells } = CELLS; // a cell has eight words by their places, its runs, and its values
const FILTERS = { dataset: 1, kernel: 2, experiment: 0 };
const form = document.getElementById("choice");
const chart = document.getElementById("chart");

// Return where a cell has the mean of a quantity; half the width of its interval follows.
const column = (name) => 9 + 2 * axes.findIndex(([axis]) => axis === name);

// Return what the row of a cell is called: its method, its data and its kernel.
const row = (cell) => [5, 6, 7].map((at) => words[at][cell[at]]);

function address(cell) {
  const names = new URLSearchParams(row(cell).map((name) => ["row", name]));
  return `generated/results/${words[0][cell[0]]}/table.html?${names}`;
}

// Offer the options of a choice, and take the first wanted one that there is.
function offer(name, options, ...wanted) {
  form[name].replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  form[name].value = wanted.find((one) => options.some(([value]) => value === one)) ?? options[0][0];
}

function show() {
  const hash = location.hash.slice(1) || "experiment=bellet_2020/accuracy";
  const wanted = Object.fromEntries(new URLSearchParams(hash));
  const example = cells.find((cell) => words[0][cell[0]] === wanted.experiment) ?? [];
  let chosen = cells;
  for (const [name, at] of Object.entries(FILTERS)) {
    const names = [...new Set(chosen.map((cell) => words[at][cell[at]]))].sort();
    const all = name === "experiment" ? [["", "all"]] : [];
    offer(name, [...all, ...names.map((word) => [word, word])], wanted[name], words[at][example[at]]);
    chosen = chosen.filter((cell) => !form[name].value || words[at][cell[at]] === form[name].value);
  }
  const has = (name) => (cell) => cell[column(name)] !== null;
  const known = axes.filter(([name]) => chosen.some(has(name)));
  offer("x", known, wanted.x, "fit", "n_components");
  offer("y", known, wanted.y, "accuracy");
  chosen = chosen.filter(has(form.x.value)).filter(has(form.y.value));
  draw(chosen, column(form.x.value), column(form.y.value));
  list(chosen, column(form.x.value), column(form.y.value));
}

function draw(points, x, y) {
  // A line joins the sizes of a map or, where x is the number of rows, these.
  const [SIZE, ROWS] = ["n_components", "n_train"].map(column);
  const [along, fixed] = x === ROWS ? [ROWS, SIZE] : [SIZE, ROWS];
  const lines = [...Map.groupBy(points, (cell) => [cell[0], cell[3], cell[4], cell[fixed]].join()).values()];
  const names = lines.map(([cell]) => [cell[0], cell[3], cell[4]].join());
  const traces = lines.map((line, i) => {
    line.sort((a, b) => a[along] - b[along]);
    const [cell] = line;
    const several = names.indexOf(names[i]) !== names.lastIndexOf(names[i]) && cell[fixed] !== null;
    const size = several && `${x === ROWS ? "D" : "n"} = ${cell[fixed]}`;
    const bar = (at) => ({ array: line.map((point) => point[at + 1] ?? 0), thickness: 1, width: 2 });
    const values = (at) => line.map((point) => point[at]);
    return {
      x: values(x), y: values(y), error_x: bar(x), error_y: bar(y), customdata: line,
      text: line.map((point) => row(point)[0]), hovertemplate: "%{text}<br>%{x}, %{y}<extra></extra>",
      name: [words[3][cell[3]], words[4][cell[4]], size].filter(Boolean).join(", "),
      legendgroup: cell[0], legendgrouptitle: { text: words[0][cell[0]] },
      mode: "lines+markers", marker: { symbol: Math.floor(i / 10) },
      line: { width: 1.5, dash: ["solid", "dash", "dot"][Math.floor(i / 10) % 3] },
    };
  });
  const axis = (name, at) => {
    const log = name !== "accuracy" && points.every((cell) => cell[at] > 0);
    const values = points.map((cell) => (log ? Math.log10(cell[at]) : cell[at]));
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const margin = 0.1 * (high - low) || 0.5; // the bars of few runs may be far longer
    return {
      title: { text: axes.find(([axis]) => axis === name)[1] }, type: log ? "log" : "linear",
      range: [low - margin, high + margin], gridcolor: "#8884", zeroline: false, automargin: true,
    };
  };
  const narrow = chart.clientWidth < 700;
  const { color, fontFamily } = getComputedStyle(document.body);
  const layout = {
    xaxis: axis(form.x.value, x), yaxis: axis(form.y.value, y), font: { color, family: fontFamily },
    legend: narrow ? { orientation: "h", y: -0.2, maxheight: 0.4 } : {}, showlegend: true,
    height: narrow ? 640 : 540, margin: { l: 50, r: 10, t: 10, b: 40 }, hovermode: "closest",
    paper_bgcolor: "transparent", plot_bgcolor: "transparent",
  };
  Plotly.react(chart, traces, layout, { displayModeBar: false, responsive: true });
}

function list(points, x, y) {
  const value = (at) => (cell) => `${cell[at]}${cell[at + 1] ? ` ± ${cell[at + 1]}` : ""}`;
  const link = (cell) => {
    const anchor = document.createElement("a");
    return Object.assign(anchor, { href: address(cell), textContent: row(cell)[0] }).outerHTML;
  };
  const columns = [
    { title: "method", data: link },
    { title: form.x.selectedOptions[0].text, data: value(x) },
    { title: form.y.selectedOptions[0].text, data: value(y) },
    { title: "runs", data: 8 },
    { title: "experiment", data: (cell) => words[0][cell[0]] },
  ];
  const options = { ...TABLE, paging: true, searching: true, destroy: true };
  tables.then(() => new DataTable("#points", { ...options, data: points, columns }));
}

form.addEventListener("change", () => location.replace(`#${new URLSearchParams(new FormData(form))}`));
addEventListener("hashchange", show);
show();
chart.on("plotly_click", ({ points: [point] }) => location.assign(address(point.customdata)));
new MutationObserver(show).observe(document.documentElement, { attributeFilter: ["data-theme"] });

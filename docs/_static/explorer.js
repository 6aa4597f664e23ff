"use strict";
// The explorer: five choices, kept in the address; a chart of the chosen CELLS, and a table of them.
const form = document.getElementById("choice");
const chart = document.getElementById("chart");

const address = (cell) =>
  `../results/${cell.experiment}/table.html?${new URLSearchParams(cell.row.map((name) => ["row", name]))}`;

// Offer the options of a choice, and take the first wanted one that there is.
function offer(name, options, ...wanted) {
  form[name].replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  form[name].value = wanted.find((one) => options.some(([value]) => value === one)) ?? options[0][0];
}

function show() {
  const wanted = Object.fromEntries(new URLSearchParams(location.hash.slice(1) || "experiment=bellet_2020/accuracy"));
  const example = CELLS.find((cell) => cell.experiment === wanted.experiment) ?? {};
  let cells = CELLS;
  for (const name of ["dataset", "kernel", "experiment"]) {
    const names = [...new Set(cells.map((cell) => cell[name]))].sort().map((word) => [word, word]);
    offer(name, name === "experiment" ? [["", "all"], ...names] : names, wanted[name], example[name]);
    cells = cells.filter((cell) => !form[name].value || cell[name] === form[name].value);
  }
  const known = Object.entries(AXES).filter(([name]) => cells.some((cell) => cell[name]));
  offer("x", known, wanted.x, "fit", "n_components");
  offer("y", known, wanted.y, "accuracy");
  const [x, y] = [form.x.value, form.y.value];
  cells = cells.filter((cell) => cell[x] && cell[y]);
  draw(cells, x, y);
  list(cells, x, y);
}

function draw(cells, x, y) {
  // A line joins the sizes of a map or, where x is the number of rows, these.
  const [along, fixed, sign] = x === "n_train" ? [x, "n_components", "D"] : ["n_components", "n_train", "n"];
  const several = new Set(cells.map((cell) => cell[fixed]?.[0])).size > 1;
  const size = (cell) => several && cell[fixed] && `${sign} = ${cell[fixed][0]}`;
  const name = (cell) => [cell.method, cell.protocol, size(cell)].filter(Boolean).join(", ");
  const lines = Object.values(Object.groupBy(cells, (cell) => `${cell.experiment}: ${name(cell)}`));
  const traces = lines.map((line, i) => {
    line.sort((a, b) => a[along]?.[0] - b[along]?.[0]);
    const values = (axis) => line.map((cell) => cell[axis][0]);
    const bars = (axis) => ({ array: line.map((cell) => cell[axis][1] ?? 0), thickness: 1, width: 2 });
    return {
      x: values(x), y: values(y), error_x: bars(x), error_y: bars(y), customdata: line, name: name(line[0]),
      text: line.map((cell) => cell.row[0]), hovertemplate: "%{text}<br>%{x}, %{y}<extra></extra>",
      legendgroup: line[0].experiment, legendgrouptitle: { text: line[0].experiment },
      mode: "lines+markers", marker: { symbol: Math.floor(i / 10) }, line: { width: 1.5 },
    };
  });
  const axis = (name) => {
    const log = name !== "accuracy" && cells.every((cell) => cell[name][0] > 0);
    const values = cells.map((cell) => (log ? Math.log10(cell[name][0]) : cell[name][0]));
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const margin = 0.1 * (high - low) || 0.5; // the bars of few runs may be far longer
    return {
      title: { text: AXES[name] }, type: log ? "log" : "linear", range: [low - margin, high + margin],
      gridcolor: "#8884", zeroline: false, automargin: true,
    };
  };
  const narrow = chart.clientWidth < 700;
  const { color, fontFamily } = getComputedStyle(document.body);
  const layout = {
    xaxis: axis(x), yaxis: axis(y), font: { color, family: fontFamily }, showlegend: true,
    legend: narrow ? { orientation: "h", y: -0.2, maxheight: 0.4 } : {}, hovermode: "closest",
    height: narrow ? 640 : 480, margin: { l: 50, r: 10, t: 10, b: 40 },
    paper_bgcolor: "transparent", plot_bgcolor: "transparent",
  };
  Plotly.react(chart, traces, layout, { displayModeBar: false, responsive: true });
}

function list(data, x, y) {
  const value = (axis) => (cell) => cell[axis].join(" ± ");
  const link = (cell) =>
    Object.assign(document.createElement("a"), { href: address(cell), textContent: cell.row[0] }).outerHTML;
  const columns = [
    { title: "method", data: link }, { title: AXES[x], data: value(x) }, { title: AXES[y], data: value(y) },
    { title: "runs", data: "runs" }, { title: "experiment", data: "experiment" },
  ];
  new DataTable("#points", { ...TABLE, paging: true, searching: true, destroy: true, data, columns });
}

form.addEventListener("change", () => location.replace(`#${new URLSearchParams(new FormData(form))}`));
addEventListener("hashchange", show);
show();
chart.on("plotly_click", ({ points: [point] }) => location.assign(address(point.customdata)));
new MutationObserver(show).observe(document.documentElement, { attributeFilter: ["data-theme"] });

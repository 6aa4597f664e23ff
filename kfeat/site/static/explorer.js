// The explorer: which points are shown stands in the address, so that a view can be kept and sent.
"use strict";
(() => {
  const { make, get } = kfeat;
  const { chart, short, shapes } = kfeat.chart;
  const form = document.getElementById("choices");
  const svg = document.getElementById("chart");
  const detail = document.getElementById("point");
  const COLOURS = 6; // variables --c0 to --c5 of the style sheet
  const ALL = "all";
  let data, state, marks = [], chosen = -1;

  // The points as objects; a value that a point lacks is undefined.
  function unpacked({ configs, datasets, kernels, maps, series, axes, points }) {
    return points.map(([config, dataset, kernel, map, one, cell, label, runs, ...values]) => ({
      config: configs[config], dataset: datasets[dataset], kernel: kernels[kernel], map: maps[map], series: series[one], cell, label, runs,
      values: Object.fromEntries(axes.map(([name], i) => [name, values[i] ?? undefined])),
    }));
  }

  // The points of the choices but for the maps.
  function placed() {
    return data.all.filter((one) => ["dataset", "kernel", "config"].every((key) => state[key] === ALL || one[key] === state[key]));
  }

  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    state = { dataset: given.get("dataset") || ALL, kernel: given.get("kernel") || ALL, config: given.get("config") || ALL };
    if (![...given.keys()].length) Object.assign(state, busiest());
    const there = placed();
    const has = (name) => there.filter((one) => one.values[name] !== undefined && one.values[name] !== null).length;
    const score = ["accuracy", "kernel_error", "relative_error"].sort((a, b) => has(b) - has(a))[0];
    const across = ["fit", "fit_and_sample", "n_components"].sort((a, b) => has(b) - has(a))[0];
    const known = (name, other) => (data.axes.some(([axis]) => axis === name) ? name : other);
    state.x = known(given.get("x"), across);
    state.y = known(given.get("y"), score);
    state.maps = given.has("maps") ? new Set(given.get("maps").split(",").filter(Boolean)) : null;
    state.logx = given.has("logx") ? given.get("logx") === "1" : state.x !== "accuracy";
    state.logy = given.has("logy") ? given.get("logy") === "1" : state.y.endsWith("error");
  }

  // The data set and kernel with the most points of one accuracy: what is shown where nothing is chosen.
  function busiest() {
    const counts = new Map();
    for (const one of data.all) {
      if (one.values.accuracy == null || one.values.fit == null) continue;
      const key = JSON.stringify([one.dataset, one.kernel]);
      counts.set(key, (counts.get(key) || 0) + 1);
    }
    const best = [...counts].sort((a, b) => b[1] - a[1])[0];
    if (!best) return {};
    const [dataset, kernel] = JSON.parse(best[0]);
    return { dataset, kernel };
  }

  function write() {
    const given = new URLSearchParams();
    for (const key of ["dataset", "kernel", "config"]) if (state[key] !== ALL) given.set(key, state[key]);
    given.set("x", state.x);
    given.set("y", state.y);
    if (state.maps) given.set("maps", [...state.maps].join(","));
    given.set("logx", Number(state.logx));
    given.set("logy", Number(state.logy));
    history.replaceState(null, "", `#${given}`);
  }

  function options(name, pairs) {
    const select = form.elements[name];
    select.replaceChildren(...pairs.map(([value, text]) => make("option", { value, selected: value === state[name] }, text)));
    select.value = state[name];
  }

  function controls() {
    const named = (key, fits) => [[ALL, "all"], ...[...new Set(data.all.filter(fits).map((one) => one[key]))].sort().map((value) => [value, value])];
    const of = (one, ...keys) => keys.every((key) => state[key] === ALL || one[key] === state[key]);
    options("dataset", named("dataset", () => true));
    options("kernel", named("kernel", (one) => of(one, "dataset")));
    options("config", named("config", (one) => of(one, "dataset", "kernel")));
    options("x", data.axes.map(([name, heading]) => [name, heading]));
    options("y", data.axes.map(([name, heading]) => [name, heading]));
    form.elements.logx.checked = state.logx;
    form.elements.logy.checked = state.logy;
    const there = new Set(placed().map((one) => one.map));
    document.getElementById("maps").replaceChildren(
      ...data.maps.filter((map) => there.has(map)).map((map) => {
        const box = make("input", { type: "checkbox", name: "map", value: map, checked: !state.maps || state.maps.has(map) });
        const { colour, shape } = style(map);
        const sign = make("span", { className: `sign ${shape}` });
        sign.style.setProperty("--colour", colour);
        return make("label", { className: "check" }, box, sign, map);
      }),
    );
  }

  function style(map) {
    const at = data.maps.indexOf(map);
    if (map === "exact") return { colour: "var(--ink)", shape: "diamond" };
    const others = shapes.filter((shape) => shape !== "diamond");
    return { colour: `var(--c${at % COLOURS})`, shape: others[Math.floor(at / COLOURS) % others.length] };
  }

  function shown() {
    const fits = (value, log) => value !== undefined && value !== null && (!log || value > 0);
    return placed()
      .filter((one) => !state.maps || state.maps.has(one.map))
      .map((one) => ({ ...one, x: one.values[state.x], y: one.values[state.y], style: style(one.map) }))
      .filter((one) => fits(one.x, state.logx) && fits(one.y, state.logy))
      .map((one) => ({ ...one, series: JSON.stringify([one.config, one.dataset, one.kernel, one.series]), name: `${one.label || one.map}: ${short(one.x)}, ${short(one.y)}` }));
  }

  function heading(name) {
    return data.axes.find(([axis]) => axis === name)[1];
  }

  function rowsOf(one) {
    return `rows.html#${encodeURIComponent(one.config)}:${one.cell}`;
  }

  // Show a point: all of its numbers, and where its rows are.
  function choose(at) {
    marks[chosen]?.mark.classList.remove("chosen");
    chosen = at;
    const { point, mark } = marks[at];
    mark.classList.add("chosen");
    mark.parentNode.append(mark);
    const numbers = data.axes.filter(([name]) => point.values[name] != null).map(([name, title]) => `${title} ${short(point.values[name])}`);
    detail.replaceChildren(
      make("strong", {}, `${point.dataset}, ${point.kernel}: ${point.label || point.map}`),
      ` ${numbers.join("; ")}; mean of ${point.runs} ${point.runs === 1 ? "run" : "runs"} of ${point.config}. `,
      make("a", { href: rowsOf(point) }, "Its rows"),
    );
  }

  function table(points) {
    const element = document.getElementById("points");
    const headers = ["method", "data set", "kernel", heading(state.x), heading(state.y), "runs", "config"];
    element.tHead.replaceChildren(make("tr", {}, ...headers.map((text) => make("th", { scope: "col" }, text))));
    element.tBodies[0].replaceChildren(...points.map((one) => make("tr", {}, ...[
      make("a", { href: rowsOf(one) }, one.label || one.map), one.dataset, one.kernel, short(one.x), short(one.y), String(one.runs), one.config,
    ].map((cell) => make("td", {}, cell)))));
    kfeat.enliven(element);
  }

  function refresh() {
    controls();
    const points = shown();
    chosen = -1;
    detail.textContent = `${points.length} points. Point at a mark, or press the arrow keys in the figure.`;
    marks = chart(svg, points, { log: [state.logx, state.logy], titles: [heading(state.x), heading(state.y)] });
    marks.forEach(({ mark }, at) => {
      mark.addEventListener("pointerenter", () => choose(at));
      mark.addEventListener("click", () => choose(at));
    });
    table(points);
  }

  form.addEventListener("change", (event) => {
    const { name, value, checked } = event.target;
    if (name === "map") {
      const boxes = [...form.querySelectorAll("[name=map]")];
      state.maps = boxes.every((one) => one.checked) ? null : new Set(boxes.filter((one) => one.checked).map((one) => one.value));
    } else state[name] = event.target.type === "checkbox" ? checked : value;
    if (name === "dataset") state.kernel = state.config = ALL;
    if (name === "kernel") state.config = ALL;
    write();
    refresh();
    // The boxes are others now: who went to one by the keyboard stays there.
    if (name === "map") [...form.querySelectorAll("[name=map]")].find((one) => one.value === value)?.focus();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (step && marks.length) {
      event.preventDefault();
      choose((chosen + step + marks.length) % marks.length);
    } else if (event.key === "Enter" && chosen >= 0) location.href = rowsOf(marks[chosen].point);
  });
  addEventListener("hashchange", () => { read(); refresh(); });
  get("cells").then((found) => {
    data = { ...found, all: unpacked(found) };
    read();
    refresh();
  });
})();

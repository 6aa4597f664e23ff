// A chart of points in series: axes, ticks, marks, and the movement from mark to mark.
"use strict";
kfeat.chart = (() => {
  const SPACE = "http://www.w3.org/2000/svg";
  const WIDTH = 760, HEIGHT = 420;
  const MARGIN = { left: 64, right: 14, top: 26, bottom: 46 };
  const SHAPES = {
    circle: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z", square: "M-3.6,-3.6H3.6V3.6H-3.6Z", up: "M0,-5L4.6,3.6H-4.6Z",
    down: "M0,5L4.6,-3.6H-4.6Z", diamond: "M0,-5.2L5.2,0L0,5.2L-5.2,0Z", cross: "M-4,-4L4,4M4,-4L-4,4",
  };

  function draw(tag, given, parent, text) {
    const element = document.createElementNS(SPACE, tag);
    for (const [key, value] of Object.entries(given)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  function short(value) {
    const size = Math.abs(value);
    return size >= 1e5 || (size && size < 1e-3) ? value.toExponential(0) : String(Number(value.toPrecision(4)));
  }

  // Round numbers inside of [low, high]: powers of ten and their halves, or steps of 1, 2 or 5.
  function ticks(low, high, log) {
    if (log) {
      const found = [];
      for (let power = Math.floor(low); power <= high; power++) {
        for (const digit of high - low < 2.2 ? [1, 2, 5] : [1]) {
          const at = power + Math.log10(digit);
          if (at >= low && at <= high) found.push([at, short(digit * 10 ** power)]);
        }
      }
      return found;
    }
    const rough = (high - low) / 6;
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * [1, 2, 5, 10].find((digit) => digit * unit >= rough);
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push([at, short(Number(at.toPrecision(10)))]);
    return found;
  }

  // Return the scale of an axis: from a value to a pixel, with its ticks.
  function scale(values, log, from, to) {
    const seen = log ? values.map(Math.log10) : values;
    let [low, high] = [Math.min(...seen), Math.max(...seen)];
    const room = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
    [low, high] = [low - room, high + room];
    const place = (at) => from + ((at - low) / (high - low)) * (to - from);
    return { of: (value) => place(log ? Math.log10(value) : value), ticks: ticks(low, high, log).map(([at, text]) => [place(at), text]) };
  }

  function axes(svg, x, y, titles) {
    const [bottom, right] = [HEIGHT - MARGIN.bottom, WIDTH - MARGIN.right];
    for (const [at, text] of x.ticks) {
      draw("line", { class: "grid", x1: at, x2: at, y1: MARGIN.top, y2: bottom }, svg);
      draw("text", { x: at, y: bottom + 17, "text-anchor": "middle" }, svg, text);
    }
    for (const [at, text] of y.ticks) {
      draw("line", { class: "grid", x1: MARGIN.left, x2: right, y1: at, y2: at }, svg);
      draw("text", { x: MARGIN.left - 7, y: at + 4, "text-anchor": "end" }, svg, text);
    }
    draw("path", { class: "axis", d: `M${MARGIN.left},${MARGIN.top}V${bottom}H${right}` }, svg);
    draw("text", { x: right, y: HEIGHT - 8, "text-anchor": "end" }, svg, titles[0]);
    draw("text", { x: MARGIN.left, y: 14 }, svg, titles[1]);
  }

  // Draw points {x, y, series, style: {colour, shape}, name}; return their marks in order, left to right.
  function chart(svg, points, { log, titles }) {
    svg.replaceChildren();
    if (!points.length) {
      draw("text", { x: WIDTH / 2, y: HEIGHT / 2, "text-anchor": "middle" }, svg, "No points have both numbers here.");
      return [];
    }
    const x = scale(points.map((one) => one.x), log[0], MARGIN.left, WIDTH - MARGIN.right);
    const y = scale(points.map((one) => one.y), log[1], HEIGHT - MARGIN.bottom, MARGIN.top);
    axes(svg, x, y, titles);
    const ordered = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
    const series = Map.groupBy ? Map.groupBy(ordered, (one) => one.series) : grouped(ordered);
    for (const members of series.values()) {
      if (members.length < 2) continue;
      const path = members.map((one) => `${x.of(one.x).toFixed(1)},${y.of(one.y).toFixed(1)}`).join("L");
      draw("path", { class: "series", d: `M${path}`, stroke: members[0].style.colour }, svg);
    }
    return ordered.map((one) => {
      const place = `translate(${x.of(one.x).toFixed(1)},${y.of(one.y).toFixed(1)})`;
      const mark = draw("path", { class: `mark ${one.style.shape}`, d: SHAPES[one.style.shape], transform: place, fill: one.style.colour, stroke: one.style.colour }, svg);
      draw("title", {}, mark, one.name);
      return { point: one, mark };
    });
  }

  function grouped(points) {
    const found = new Map();
    for (const one of points) found.set(one.series, [...(found.get(one.series) || []), one]);
    return found;
  }

  return { chart, short, shapes: Object.keys(SHAPES) };
})();

// Charts as drawings with a table behind each, for those who would rather read it.

import { clipped, counted, element, svg, table } from "./dom.js";

/** The width that a drawing has where it is shown, so that its letters are as large as all others. */
const drawnWidth = () => (matchMedia("(max-width: 46rem)").matches ? 320 : 480);
const LEFT = 70;
const BOTTOM = 20;

function figure(title, legend, drawing, asTable, note) {
  return element(
    "figure",
    { class: "card chart-card" },
    element("figcaption", { class: "strong" }, title),
    legend && element("p", { class: "legend", "aria-hidden": "true" }, legend),
    drawing,
    asTable && element("details", { class: "small" }, element("summary", {}, "Show as a table"), asTable),
    note,
  );
}

function niceTop(value) {
  if (value <= 0) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((one) => one * size).find((one) => one >= value);
}

/** The same for what is counted: half of it, which is named too, is a whole number. */
function evenTop(count) {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, count)));
  return [1, 2, 3, 4, 5, 6, 8, 10].map((one) => one * size).find((one) => one >= count && one % 2 === 0);
}

function frame(height, top, label, ariaLabel, format) {
  const drawing = svg("svg", { class: "chart", viewBox: `0 0 ${drawnWidth()} ${height}`, role: "img", "aria-label": ariaLabel });
  for (const share of [0, 0.5, 1]) {
    const y = 8 + (1 - share) * (height - BOTTOM - 8);
    drawing.append(svg("line", { class: "grid", x1: LEFT, x2: drawnWidth(), y1: y, y2: y }));
    drawing.append(svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, format(top * share)));
  }
  return drawing;
}

function ends(drawing, height, first, last) {
  drawing.append(svg("text", { x: LEFT, y: height - 4 }, first));
  drawing.append(svg("text", { x: drawnWidth(), y: height - 4, "text-anchor": "end" }, last));
}

/** The name of a moment on an axis of which each step has so many seconds. */
export function axisTime(seconds, step) {
  const date = new Date(seconds * 1000);
  const day = date.toLocaleDateString([], { month: "short", day: "numeric" });
  if (step >= 86400) return day;
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", ...(step < 60 ? { second: "2-digit" } : {}) });
  return step >= 3600 ? `${day} ${time}` : time;
}

export function stepName(step) {
  for (const [size, name] of [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]]) {
    if (step % size === 0) return step === size ? name : `${step / size} ${name}s`;
  }
  return `${step} s`;
}

/** Bars over time: `bars` have `label`, `value` and the `part` of it that is marked. */
export function timeChart({ title, bars, valueName = "calls", partName = "blocked", height = 170 }) {
  const top = evenTop(Math.max(1, ...bars.map((bar) => bar.value)));
  const total = bars.reduce((sum, bar) => sum + bar.value, 0);
  const about = `${title}: ${counted(total, valueName.replace(/s$/, ""), valueName)} in ${bars.length} steps; the table below has them all`;
  const drawing = frame(height, top, title, about, (value) => short(value));
  const room = height - BOTTOM - 8;
  const width = (drawnWidth() - LEFT) / Math.max(1, bars.length);
  bars.forEach((bar, at) => {
    const one = svg("g", {}, svg("title", {}, `${bar.label}: ${bar.value} ${valueName}, ${bar.part || 0} ${partName}`));
    const tall = (bar.value / top) * room;
    const part = ((bar.part || 0) / top) * room;
    const x = LEFT + at * width + Math.min(1, width * 0.1);
    const wide = Math.min(28, Math.max(1, width - Math.min(2, width * 0.2)));
    if (bar.value) one.append(svg("rect", { class: "bar", x, width: wide, y: 8 + room - tall, height: Math.max(1, tall), rx: 1.5 }));
    if (bar.part) one.append(svg("rect", { class: "part", x, width: wide, y: 8 + room - part, height: Math.max(1.5, part), rx: 1.5 }));
    drawing.append(one);
  });
  if (bars.length) ends(drawing, height, bars[0].label, bars.length > 1 ? bars[bars.length - 1].label : "");
  const legend = [element("span", {}, valueName), partName && element("span", { class: "part" }, partName)];
  const columns = [
    { title: "When", cell: (bar) => bar.label },
    { title: valueName, cell: (bar) => String(bar.value), class: "number" },
    { title: partName, cell: (bar) => String(bar.part || 0), class: "number" },
  ];
  return figure(title, legend, drawing, table({ caption: title, columns, rows: bars.filter((bar) => bar.value), empty: "Nothing happened." }));
}

/** Lines over time: `points` have `label` and a value for each of the `lines` (`[key, name]`). */
export function lineChart({ title, points, lines, format = String, height = 170 }) {
  const values = points.flatMap((point) => lines.map(([key]) => point[key] ?? 0));
  const top = niceTop(Math.max(0, ...values));
  const drawing = frame(height, top, title, `${title}; the table below has the numbers`, format);
  const room = height - BOTTOM - 8;
  const place = (at) => LEFT + ((at + 0.5) * (drawnWidth() - LEFT)) / Math.max(1, points.length);
  lines.forEach(([key, name], number) => {
    const isKnown = (at) => (points[at]?.[key] ?? null) !== null;
    const known = points.map((point, at) => [place(at), point[key], at]).filter(([, , at]) => isKnown(at));
    // Where nothing was measured there is no line.
    const path = known.map(([x, value, at]) => `${isKnown(at - 1) ? "L" : "M"}${x.toFixed(1)} ${(8 + room - (value / top) * room).toFixed(1)}`).join("");
    drawing.append(svg("path", { class: `line line-${number}`, d: path || "M0 0" }, svg("title", {}, name)));
    for (const [x, value] of known) drawing.append(svg("circle", { class: `dot dot-${number}`, cx: x, cy: 8 + room - (value / top) * room, r: known.length > 30 ? 1.2 : 2.2 }));
  });
  if (points.length) ends(drawing, height, points[0].label, points.length > 1 ? points[points.length - 1].label : "");
  const legend = lines.map(([, name], number) => element("span", { class: number ? "second" : "" }, name));
  const columns = [{ title: "When", cell: (point) => point.label }, ...lines.map(([key, name]) => ({ title: name, cell: (point) => format(point[key] ?? 0), class: "number" }))];
  const rows = points.filter((point) => lines.some(([key]) => point[key] !== null && point[key] !== undefined));
  return figure(title, legend, drawing, table({ caption: title, columns, rows, empty: "Nothing was measured." }));
}

/** A lane for each name: how much happened in each step, and whether something was blocked. */
export function laneChart({ title, lanes, labels, columns, onOpen }) {
  const tall = 26;
  const left = 110;
  const height = lanes.length * tall + BOTTOM;
  const drawing = svg("svg", { class: "chart lanes", viewBox: `0 0 ${drawnWidth()} ${height}`, role: "img", "aria-label": `${title}; the table below has the numbers` });
  const most = Math.max(1, ...lanes.flatMap((lane) => lane.counts.map(([calls]) => calls)));
  const width = (drawnWidth() - left) / Math.max(1, labels.length);
  lanes.forEach((lane, row) => {
    const y = row * tall;
    drawing.append(svg("text", { x: left - 8, y: y + 17, "text-anchor": "end" }, lane.name.length > 18 ? `${lane.name.slice(0, 17)}…` : lane.name, svg("title", {}, lane.name)));
    drawing.append(svg("line", { class: "grid", x1: left, x2: drawnWidth(), y1: y + tall - 4, y2: y + tall - 4 }));
    lane.counts.forEach(([calls, blocked], at) => {
      if (!calls) return;
      const size = 4 + 16 * Math.sqrt(calls / most);
      const x = left + at * width;
      const wide = Math.min(26, Math.max(1.5, width - 1.5));
      const mark = svg("g", {}, svg("title", {}, `${lane.name}, ${labels[at]}: ${calls} calls, ${blocked} blocked`));
      mark.append(svg("rect", { class: "bar", x, width: wide, y: y + tall - 4 - size, height: size, rx: 1.5 }));
      if (blocked) mark.append(svg("rect", { class: "part", x, width: wide, y: y + tall - 4 - Math.max(2, size * (blocked / calls)), height: Math.max(2, size * (blocked / calls)), rx: 1.5 }));
      drawing.append(mark);
    });
  });
  if (labels.length) {
    drawing.append(svg("text", { x: left, y: height - 4 }, labels[0]));
    drawing.append(svg("text", { x: drawnWidth(), y: height - 4, "text-anchor": "end" }, labels.length > 1 ? labels[labels.length - 1] : ""));
  }
  const legend = [element("span", {}, "calls"), element("span", { class: "part" }, "blocked")];
  return figure(title, legend, drawing, table({ caption: title, columns, rows: lanes, onOpen, empty: "Nothing was called." }));
}

/** A table of names with a bar for each: longest first. */
export function rankChart({ title, rows, all = rows.length, nameTitle = "Name", longest = 40, valueTitle = "Calls", partTitle = "Blocked", onOpen }) {
  const most = Math.max(1, ...rows.map((row) => row.value));
  const bar = (row) => {
    const part = element("span", { class: "rank-part" });
    const whole = element("span", { class: "rank", "aria-hidden": "true" }, part);
    whole.style.width = `${(100 * row.value) / most}%`;
    part.style.width = `${row.value ? (100 * (row.part || 0)) / row.value : 0}%`;
    return whole;
  };
  const columns = [
    { title: nameTitle, cell: (row) => clipped(row.name, longest), class: "name" },
    { title: "", spoken: "Share", cell: bar, class: "rank-cell" },
    { title: valueTitle, cell: (row) => row.value.toLocaleString("en"), class: "number" },
    ...(partTitle ? [{ title: partTitle, cell: (row) => (row.part || 0).toLocaleString("en"), class: "number" }] : []),
  ];
  return figure(title, null, table({ caption: title, columns, rows, onOpen, empty: "Nothing yet." }), null, all > rows.length && element("p", { class: "dim small more" }, `The first ${rows.length} of ${all.toLocaleString("en")}.`));
}

export function short(value) {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(2))}M`;
  if (value >= 1e4) return `${Number((value / 1e3).toPrecision(2))}k`;
  return String(Number(value.toPrecision(3)));
}

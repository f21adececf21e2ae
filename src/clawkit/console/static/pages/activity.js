// Activity: the audit as a live table, in charts, and call by call.

import { axisTime, laneChart, lineChart, rankChart, stepName, timeChart } from "../charts.js";
import { badge, button, clipped, counted, dialog, duration, element, emptyState, facts, field, longText, moment, pager, replace, table, throttled } from "../console.js";

const SIZE = 30;
const SUMMARY_EVERY = 2500;
const ROWS_EVERY = 700;
const SOURCES = { page: ", in the console", terminal: ", in claw approvals", form: ", in the client's form", script: ", by claw approvals answer" };
const KINDS = { allow: "good", pass: "plain", deny: "bad", drop: "bad", prompt: "warn", error: "warn" };
const DECISIONS = [
  ["", "Any decision"],
  ["allow", "Allowed"],
  ["blocked", "Blocked"],
  ["asked", "Asked a person"],
  ["error", "Server not reached"],
];
const TIMES = [
  ["", "All the time"],
  ["15m", "Last 15 minutes"],
  ["1h", "Last hour"],
  ["1d", "Last day"],
  ["1w", "Last week"],
];

export async function show(root, context) {
  const filter = Object.fromEntries(context.parameters);
  const place = { chain: element("div", {}), figures: element("div", {}), times: element("div", {}), rows: element("div", {}, element("p", { class: "dim" }, "Reading the log…")), charts: element("div", {}) };
  let before = Number(filter.before || 0);
  const trail = [];
  delete filter.before;
  if (!/^\d{1,9}$/.test(filter.rule || "")) delete filter.rule;

  const form = drawFilters(filter, () => {
    before = 0;
    trail.length = 0;
    context.remember(wanted());
    return context.attempt(loadAll);
  });
  root.append(
    place.chain,
    form.node,
    place.figures,
    place.times,
    element("section", { "aria-label": "Calls", class: "later" }, element("h2", {}, "Calls"), place.rows),
    element("section", { "aria-label": "Charts", class: "later" }, place.charts),
  );

  const wanted = () => Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== "" && value !== false));
  const query = (more = {}) => new URLSearchParams({ ...wanted(), ...more }).toString();

  async function loadRows() {
    const found = await context.fetchJson(`/api/activity/rows?${query({ limit: SIZE, ...(before ? { before } : {}) })}`);
    drawRows(place.rows, found);
  }

  function drawRows(target, found) {
    const focused = document.activeElement?.closest?.("tr")?.dataset?.seq;
    const newest = trail.length === 0;
    replace(
      target,
      found.rows.length || found.newest
        ? table({
            caption: "Calls, newest first",
            columns: COLUMNS,
            rows: found.rows,
            empty: "Nothing like that in the log.",
            onOpen: open,
          })
        : emptyState("The log is empty", "The guard writes it: put it before a server with `claw wrap SERVER`, and call a tool."),
      pager({
        text: found.total ? `${counted(found.total, "row")} match${found.total === 1 ? "es" : ""}` : "",
        backLabel: "Newer",
        onLabel: "Older",
        back: !newest && (() => ((before = trail.pop() || 0), context.attempt(loadRows))),
        on: found.older && (() => (trail.push(before), (before = found.rows[found.rows.length - 1].seq), context.attempt(loadRows))),
      }),
    );
    [...target.querySelectorAll("tbody tr")].forEach((line, at) => found.rows[at] && (line.dataset.seq = String(found.rows[at].seq)));
    if (focused) target.querySelector(`tr[data-seq="${CSS.escape(focused)}"] button`)?.focus();
  }

  async function loadSummary() {
    const found = await context.fetchJson(`/api/activity/summary?${query()}`);
    drawFigures(place.figures, found);
    drawCharts(place, found, (server) => form.set("server", server), (tool) => form.set("tool", tool));
  }

  async function loadAll() {
    await Promise.all([loadRows(), loadSummary()]);
  }

  async function open(row) {
    await context.attempt(async () => {
      const opened = await context.fetchJson(`/api/activity/record?seq=${row.seq}`);
      const chosen = await dialog({
        title: `${opened.record.tool || opened.record.method || opened.record.kind}`,
        body: drawRecord(opened, row),
        actions: [
          ...(opened.record.rule ? [{ label: `Look at rule ${opened.record.rule}`, value: () => context.go("policy", { rule: String(opened.record.rule) }) }] : []),
          { label: "Close", value: null },
        ],
      });
      if (typeof chosen === "function") chosen();
    });
  }

  await Promise.all([loadAll(), context.fetchJson("/api/activity/servers").then(form.servers)]);
  context.fetchJson("/api/activity/chain").then((found) => drawChain(place.chain, found)).catch(() => {});

  const lately = throttled(() => context.attempt(loadRows), ROWS_EVERY, context.signal);
  const seldom = throttled(() => context.attempt(loadSummary), SUMMARY_EVERY, context.signal);
  context.watch("activity", () => {
    if (!before) lately(); // who reads an older page is not moved about
    seldom();
  });
}

const COLUMNS = [
  { title: "Tool", cell: (row) => clipped(row.name), class: "mono name" },
  { title: "Decision", cell: (row) => badge(row.decision || row.kind, KINDS[row.decision]) },
  { title: "Server", cell: (row) => clipped(row.server || ""), class: "name" },
  { title: "With", cell: (row) => row.preview, class: "mono dim preview" },
  { title: "Why", cell: (row) => element("span", { class: "small" }, why(row), row.flags?.length ? [" ", badge(row.flags.join(", "), "warn")] : null), class: "why" },
  { title: "Took", cell: (row) => (row.latency_ms === undefined ? "" : duration(row.latency_ms)), class: "number" },
  { title: "When", cell: (row) => moment(row.time), class: "nowrap dim" },
];

function why(row) {
  const times = row.count > 1 ? `${row.count} times` : "";
  return [row.rule ? `rule ${row.rule}` : "", times, row.reason].filter(Boolean).join(": ");
}

function drawFilters(filter, onChange) {
  const select = (name, options) => {
    const input = element("select", { onchange: () => ((filter[name] = input.value), onChange()) }, options.map(([value, label]) => element("option", { value }, label)));
    for (const [at, [value]] of options.entries()) input.options[at].value = value;
    input.value = filter[name] || "";
    return input;
  };
  const text = (name, placeholder, more = { type: "search" }) => {
    const input = element("input", { placeholder, value: filter[name] || "", ...more });
    let timer = null;
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => input.reportValidity() && ((filter[name] = input.value.trim()), onChange()), 250);
    });
    return input;
  };
  const server = select("server", [["", "Every server"]]);
  const tool = text("tool", "read_*, or a part");
  const all = element("input", { type: "checkbox", id: "everything", onchange: () => ((filter.everything = all.checked ? "true" : ""), onChange()) });
  all.checked = filter.everything === "true";
  const fields = { server, tool };
  return {
    node: element(
      "form",
      { class: "filters", role: "search", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
      field("Server", server),
      field("Tool", tool),
      field("Decision", select("decision", DECISIONS)),
      field("Time", select("since", TIMES)),
      field("Rule", text("rule", "number", { type: "number", min: "0", max: "999999999", step: "1" })),
      field("Text", text("text", "call, why, client")),
      element("div", { class: "check" }, all, element("label", { for: "everything" }, "Lists, starts and notices too")),
    ),
    servers(names) {
      replace(server, element("option", {}, "Every server"), names.map((name) => element("option", {}, name)));
      server.options[0].value = "";
      names.forEach((name, at) => (server.options[at + 1].value = name));
      server.value = filter.server || "";
    },
    set(name, value) {
      filter[name] = value;
      fields[name].value = value;
      onChange();
    },
  };
}

function drawFigures(place, found) {
  const one = (title, value, kind) => element("div", { class: `card ${kind || ""}` }, element("p", { class: "dim small" }, title), element("p", { class: "figure" }, value));
  replace(
    place,
    element(
      "div",
      { class: "cards" },
      one("Calls", found.calls.toLocaleString("en")),
      one("Blocked", found.blocked.toLocaleString("en"), found.blocked ? "is-bad" : ""),
      one("Asked a person", found.asked.toLocaleString("en")),
      one("Median latency", duration(found.p50_ms) || "–"),
      one("95th percentile", duration(found.p95_ms) || "–"),
    ),
  );
}

function drawCharts(place, found, onServer, onTool) {
  if (!found.buckets.length) {
    replace(place.times);
    replace(place.charts);
    return;
  }
  const labels = found.buckets.map((one) => axisTime(one.start, found.step));
  const per = stepName(found.step);
  const lanes = found.lanes.map((lane) => ({ ...lane, name: lane.server || "(no name)" }));
  const laneColumns = [
    { title: "Server", cell: (lane) => clipped(lane.name) },
    { title: "Calls", cell: (lane) => lane.calls.toLocaleString("en"), class: "number" },
    { title: "Blocked", cell: (lane) => lane.blocked.toLocaleString("en"), class: "number" },
    { title: "Median", cell: (lane) => duration(lane.p50_ms), class: "number" },
    { title: "95 %", cell: (lane) => duration(lane.p95_ms), class: "number" },
  ];
  replace(
    place.times,
    element(
      "div",
      { class: "columns" },
      timeChart({ title: `Calls per ${per}`, bars: found.buckets.map((one, at) => ({ label: labels[at], value: one.calls, part: one.blocked })) }),
      laneChart({ title: "Calls per server over time", lanes, labels, columns: laneColumns, onOpen: (lane) => onServer(lane.server) }),
    ),
  );
  replace(
    place.charts,
    element(
      "div",
      { class: "columns" },
      lineChart({ title: "Latency", points: found.buckets.map((one, at) => ({ label: labels[at], p50: one.p50_ms, p95: one.p95_ms })), lines: [["p50", "median"], ["p95", "95th percentile"]], format: (value) => duration(value) || "0" }),
      rankChart({ title: "Tools", nameTitle: "Tool", rows: found.tools.map((one) => ({ name: one.name, value: one.calls, part: one.blocked })), all: found.all_tools, onOpen: (row) => onTool(row.name) }),
      rankChart({ title: "Why calls were blocked", nameTitle: "Reason", longest: 120, valueTitle: "Times", partTitle: "", rows: found.reasons.map((one) => ({ name: one.name, value: one.calls, part: one.calls })), all: found.all_reasons }),
    ),
  );
}

function drawChain(place, { verdict, directory }) {
  const whole = verdict.ok;
  const text = whole
    ? verdict.records
      ? `The log is whole: the hash chain holds from record ${verdict.first_seq} to ${verdict.last_seq}, in ${counted(verdict.files, "file")}.`
      : ""
    : `The log is ${verdict.files ? "broken" : "missing"}: ${verdict.problem.file}${verdict.problem.line ? `, line ${verdict.problem.line}` : ""}: ${verdict.problem.reason}. Keep a copy of ${directory} before anything else is done to it.`;
  const recovered = (verdict.recoveries || []).slice(-3).map((one) => ` Recovered at ${one.time}: ${one.reason}.`);
  replace(place, text && element("p", { class: whole ? (recovered.length ? "note" : "small dim chain") : "problem", role: whole ? null : "alert" }, whole && !recovered.length ? badge("✓", "good") : null, " ", text, recovered));
}

function drawRecord({ record, linked, before, after }, row) {
  const answer = linked.find((one) => one.kind === "answer" || one.kind === "list");
  const approval = linked.find((one) => one.kind === "approval");
  const near = (rows) =>
    table({
      caption: "Calls of the same session",
      columns: [{ title: "Tool", cell: (one) => clipped(one.name), class: "mono" }, { title: "Decision", cell: (one) => badge(one.decision || one.kind, KINDS[one.decision]) }, { title: "With", cell: (one) => one.preview, class: "mono dim preview" }, { title: "When", cell: (one) => moment(one.time), class: "nowrap dim" }],
      rows,
    });
  return [
    element("p", {}, badge(row.decision || record.kind, KINDS[row.decision]), " ", element("span", { class: "text" }, why(row) || why(record))),
    facts([
      ["When", moment(record.time)],
      ["Server", record.server],
      ["Client", record.client],
      ["Method", record.method],
      ["Rule", record.rule ? String(record.rule) : ""],
      ["Asked", approval ? [moment(approval.time), " ", `${approval.decision}: ${approval.reason || "allowed"}${SOURCES[approval.source] || ""}`] : ""],
      ["Took", answer ? duration(answer.latency_ms || 0) : ""],
      ["Result", answer ? [`${(answer.size || 0).toLocaleString("en")} bytes, sha256 `, element("code", {}, answer.digest || "not kept")] : ""],
      ["Found in it", (answer?.flags || record.flags || []).join(", ")],
      ["Record", `${record.seq}, hash ${String(record.hash || "").slice(0, 16)}…`],
      ["Session", record.session],
    ]),
    record.arguments !== undefined && [element("h3", {}, "Arguments, as they are kept"), longText(JSON.stringify(record.arguments, null, 2), 4000)],
    record.outside !== undefined && record.outside !== null && [element("h3", {}, "Outside the arguments"), longText(JSON.stringify(record.outside, null, 2), 4000)],
    linked.length ? element("details", {}, element("summary", {}, `${counted(linked.length, "record")} about it`), longText(JSON.stringify(linked, null, 2), 4000)) : null,
    before.length || after.length ? element("details", {}, element("summary", {}, "Before and after in the same session"), near([...before, row, ...after])) : null,
  ];
}

// The page of the MCP App: speaks JSON-RPC with its host by postMessage, and draws what comes.

const VIEW = "clawkit/view";
const byId = (id) => document.getElementById(id);
const waiting = new Map();
let count = 0;
let drawn = null;
let dark = matchMedia("(prefers-color-scheme: dark)").matches;

function post(message) {
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function ask(method, params) {
  count += 1;
  post({ id: count, method, params });
  return new Promise((resolve, reject) => waiting.set(count, { resolve, reject }));
}

const told = {
  "ui/notifications/tool-result": (result) => show(result),
  "ui/notifications/tool-cancelled": () => say("The call was cancelled."),
  "ui/notifications/host-context-changed": (context) => adapt(context),
};

window.addEventListener("message", ({ data, source }) => {
  if (source !== window.parent || data?.jsonrpc !== "2.0") return;
  if (data.method === undefined) {
    const { resolve, reject } = waiting.get(data.id) || {};
    waiting.delete(data.id);
    if (data.error) reject?.(new Error(String(data.error.message || "The host refused.")));
    else resolve?.(data.result);
  } else if (data.id !== undefined) {
    const known = ["ui/resource-teardown", "ping"].includes(data.method);
    const answer = known ? { result: {} } : { error: { code: -32601, message: "Method not found" } };
    post({ id: data.id, ...answer });
  } else told[data.method]?.(data.params || {});
});

function adapt({ theme, styles }) {
  const root = document.documentElement;
  if (theme === "light" || theme === "dark") {
    root.style.colorScheme = theme;
    dark = theme === "dark";
  }
  for (const [name, value] of Object.entries(styles?.variables || {})) {
    if (name.startsWith("--") && typeof value === "string") root.style.setProperty(name, value);
  }
  drawn?.draw();
}

function element(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function say(text, bad = false) {
  byId("said").textContent = text;
  byId("said").classList.toggle("bad", bad);
}

async function call(name, input) {
  say("…");
  try {
    show(await ask("tools/call", { name, arguments: input }));
  } catch (error) {
    say(error.message, true);
  }
}

function textOf(result) {
  return (result.content || []).map((one) => (typeof one.text === "string" ? one.text : "")).join("\n");
}

function show(result) {
  const view = result._meta?.[VIEW];
  if (result.isError) say(textOf(result), true);
  else if (!view) plain(textOf(result));
  else shown[view.kind]?.(view);
}

/** A host that keeps `_meta` to itself leaves the words. */
function plain(text) {
  say("");
  byId("list").replaceChildren(element("li", {}, element("pre", {}, text)));
}

const shown = {
  overview(view) {
    byId("title").textContent = view.being;
    const { total, ids } = view.map;
    say(total > ids.length ? `${total} memories, the newest ${ids.length} on the map` : `${total} ${total === 1 ? "memory" : "memories"}`);
    draw(view.map);
    topics(view.map.topics);
    list(view.memories);
  },
  topic(view) {
    say(`${view.name}: ${view.memories.length} shown`);
    list(view.memories);
  },
  found(view) {
    byId("query").value = view.query;
    say(view.memories.length ? `Found ${view.memories.length}, the best first` : "Nothing was found.");
    list(view.memories);
  },
  memory(view) {
    say("");
    detail(view.stories[0]);
  },
};

function draw(map) {
  byId("drawing").hidden = map.ids.length === 0;
  if (!map.ids.length) return;
  const fresh = byId("map").cloneNode();
  byId("map").replaceWith(fresh);
  drawn = showMap(fresh, map, { onOpen: open, isDark: () => dark });
}

function topics(found) {
  const there = found.filter((one) => one.memories);
  byId("topics").hidden = there.length < 2;
  byId("topics").replaceChildren(
    ...there.map((one) => element("button", { type: "button", title: one.digest, onclick: () => call("recall_memory", { cluster_id: one.id, limit: 50 }) }, `${one.name} ${one.memories}`)),
  );
}

function day(seconds) {
  return new Date(seconds * 1000).toLocaleDateString([], { dateStyle: "medium" });
}

function list(memories) {
  byId("detail").hidden = true;
  byId("list").replaceChildren(
    ...memories.map((one) => {
      const state = { dying: "fading", dead: "asleep" }[one.state];
      const about = [one.days[0] || day(one.created), state, one.pinned ? "pinned" : "", one.score === undefined ? "" : `score ${one.score}`];
      return element("li", {}, element("button", { type: "button", onclick: () => open(one.id) }, element("span", {}, one.text), element("br"), element("span", { class: "about" }, about.filter(Boolean).join(" · "))));
    }),
  );
}

function open(id) {
  drawn?.select(id);
  call("recall_memory", { node_id: id });
}

function line(label, text) {
  return text ? element("p", {}, element("span", { class: "about" }, `${label} `), text) : null;
}

function detail(story) {
  const place = byId("detail");
  place.hidden = false;
  if (!story) {
    place.replaceChildren(element("p", {}, "This is not known any more."));
    return;
  }
  const close = () => ((place.hidden = true), byId("query").focus());
  place.replaceChildren(
    element("h2", {}, story.text),
    ...[
      line("When", story.days.join(", ") || day(story.created)),
      line("Who", story.actors.join(", ")),
      line("Where", story.setting),
      line("Feeling", story.feeling),
      line("Topic", story.topic),
      ...story.before.map((fact) => line(`Until ${day(fact.until)}`, fact.text)),
      story.after && line(`Since ${day(story.after.until)}`, story.after.now ? story.after.now.text : story.after.how),
      element("button", { type: "button", onclick: close }, "Close"),
    ].filter(Boolean),
  );
  place.scrollIntoView({ block: "nearest" });
}

// No form: a host's sandbox need not let a page submit one.
function search() {
  const query = byId("query").value.trim();
  if (query) call("search_memory", { query, limit: 30 });
  else call("recall_memory", {});
}

byId("find").addEventListener("click", search);
byId("query").addEventListener("keydown", ({ key }) => key === "Enter" && search());
byId("closer").addEventListener("click", () => drawn?.zoom(1.4));
byId("further").addEventListener("click", () => drawn?.zoom(1 / 1.4));
byId("whole").addEventListener("click", () => drawn?.whole());

new ResizeObserver(() => {
  const { scrollWidth: width } = document.documentElement;
  const height = Math.ceil(document.querySelector("main").getBoundingClientRect().height);
  post({ method: "ui/notifications/size-changed", params: { width, height } });
}).observe(document.querySelector("main"));

const begun = await ask("ui/initialize", {
  protocolVersion: "2026-01-26",
  appInfo: { name: "clawkit-memory", title: "Memory", version: "1.0.0" },
  appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
});
adapt(begun?.hostContext || {});
post({ method: "ui/notifications/initialized", params: {} });
// What was searched comes with the call that opened this page; the map behind it does not.
if (begun?.hostCapabilities?.serverTools && begun?.hostContext?.toolInfo?.tool?.name === "search_memory") {
  const overview = await ask("tools/call", { name: "recall_memory", arguments: {} }).catch(() => null);
  const view = overview?._meta?.[VIEW];
  if (view?.kind === "overview") draw(view.map);
}

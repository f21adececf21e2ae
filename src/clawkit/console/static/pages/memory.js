// The page Memory: what a Being remembers, as a map and a list, by day, by fact; and who may reach it.

import { ago, announce, badge, button, confirm, counted, dialog, element, emptyState, facts, fetchJson, field, moment, pager, prose, redraw, replace, table, toast } from "../console.js";
import { showMap, topicColour } from "../map.js";

const TABS = [
  ["map", "Map", drawMapTab],
  ["days", "Days", drawDays],
  ["facts", "What changed", drawFacts],
  ["history", "History", drawHistory],
  ["access", "Access", drawAccess],
];
const LIVE_EVERY = 2000;
const STATES = { active: "", dying: "fading", dead: "asleep" };
const dark = matchMedia("(prefers-color-scheme: dark)");

export async function show(root, context) {
  const { beings, store, elsewhere, stamp } = await context.fetchJson("/api/memory/beings");
  const note = elsewhere
    ? element("p", { class: "note" }, `The assistant's own memory is at ${elsewhere}. Here are the Beings of this machine.`)
    : null;
  if (!beings.length) {
    context.follow("memory", () => stamp, context.reload);
    root.append(note || "", emptyState("Nothing is remembered yet", `in ${store}. Tell your assistant something, or type: \`claw remember "…"\``));
    return;
  }
  const named = context.parameters.get("being");
  const most = beings.reduce((best, one) => (one.memories > best.memories ? one : best));
  const being = beings.find((one) => one.id === named) || beings.find((one) => one.is_own && one.memories) || most;
  const tab = TABS.find(([name]) => name === context.parameters.get("view")) || TABS[0];
  const place = element("div", { class: "memory-view", role: "tabpanel", id: "memory-panel", "aria-labelledby": `tab-${tab[0]}` });
  const page = { context, being, place, go: (more) => context.go("memory", { being: being.id, ...more }) };
  const head = element("div", {}, heading(page, beings, store));
  root.append(note || "", head, tabs(page, tab[0]), place);
  await tab[2](page);
  let seen = stamp;
  context.follow("memory", () => seen, async () => {
    const now = await context.fetchJson("/api/memory/beings");
    seen = now.stamp;
    const same = now.beings.find((one) => one.id === being.id);
    if (!same) return context.reload();
    page.being = same;
    await endOffers(page);
    await redraw(head, () => replace(head, heading(page, now.beings, store)));
    await redraw(place, page.again);
  }, LIVE_EVERY);
}

/** A command about a Being, as prose marks it. */
const commandFor = (being, name) => `\`claw ${name}${being.is_own ? "" : ` --being ${being.id}`}\``;

function heading({ context, being }, beings, store) {
  const choice = element(
    "select",
    { onchange: (event) => context.go("memory", { being: event.target.value }) },
    beings.map((one) => element("option", { value: one.id, selected: one.id === being.id }, one.name)),
  );
  choice.value = being.id;
  const waits = being.waiting ? prose(` · ${counted(being.waiting, "new note waits", "new notes wait")} to be put in order: ${commandFor(being, "memory tidy")} does it`) : "";
  return element(
    "div",
    { class: "spread memory-head" },
    beings.length > 1 ? field("Being", choice) : element("p", { class: "strong" }, being.name),
    element("p", { class: "dim small" }, `${counted(being.memories, "memory", "memories")}`, waits, ` · ${counted(being.tokens, "access token")} · ${store}`),
  );
}

function tabs(page, current) {
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = [...event.currentTarget.children];
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    next.focus();
  };
  return element(
    "div",
    { class: "tabs", role: "tablist", "aria-label": "Views of this memory", onkeydown: move },
    TABS.map(([name, title]) =>
      button(title, () => page.go({ view: name }), {
        role: "tab",
        id: `tab-${name}`,
        "aria-selected": String(name === current),
        "aria-controls": "memory-panel",
        tabindex: name === current ? "0" : "-1",
      }),
    ),
  );
}

const longDay = (iso) => {
  const date = new Date(`${iso}T12:00:00`);
  return isNaN(date) ? iso : date.toLocaleDateString([], { day: "numeric", month: "long", year: "numeric" });
};
const dayOf = (seconds) => new Date(seconds * 1000).toLocaleDateString([], { day: "numeric", month: "long", year: "numeric" });
const happened = (node) => (node.scene.when?.length ? longDay(node.scene.when[0]) : dayOf(node.created));

// ---- the map, search and the list

async function drawMapTab(page) {
  const { context, being, place } = page;
  page.again = () => drawMapTab(page);
  if (!being.memories) {
    const next = being.waiting ? `What was told waits to be put in order: ${commandFor(being, "memory tidy")} does that.` : `Tell it something in a client, or with ${commandFor(being, "remember")}.`;
    replace(place, emptyState("No memory to draw yet", next));
    return;
  }
  const detail = element("aside", { class: "card memory-detail", "aria-label": "The chosen memory", hidden: true });
  const list = element("section", { "aria-label": "Memories" });
  const found = element("section", { class: "found", "aria-label": "What was found", hidden: true });
  const about = element("span", { class: "dim small" });
  const topics = element("div", {});
  const row = element("div", { class: "memory-map-row" });
  const { parameters } = context;
  const sought = parameters.get("query") ? { query: parameters.get("query"), ...(parameters.get("as_of") ? { as_of: parameters.get("as_of") } : {}) } : {};
  const state = { ...page, row, sought, map: NO_MAP, detail, list, found, about, topics, topic: "", drawn: null, asked: 0 };
  state.open = (id) => context.attempt(() => openNode(state, id));
  state.reload = () => {
    const before = location.hash;
    page.go(state.sought);
    // The address may be this one already: then nobody else shows the page anew.
    if (location.hash === before) context.reload();
  };
  row.append(mapCard(state), detail);
  replace(place, searchForm(state), found, row, topics, list);
  page.again = async () => {
    if (!page.being.memories) return drawMapTab(page);
    loadMap(state);
    await drawList(state, state.offset);
    if (state.sought.query) await search(state);
    if (!detail.hidden) await showNode(state, detail.dataset.node);
  };
  loadMap(state);
  await drawList(state, 0);
  if (sought.query) await context.attempt(() => search(state));
  if (context.parameters.get("node")) await state.open(context.parameters.get("node"));
}

const NO_MAP = { total: 0, topics: [], ids: [], x: [], y: [], topic: [], state: [] };

/** The map takes longest: all else is there before it, and nothing waits for it. */
async function loadMap(state) {
  const asked = (state.asked += 1);
  const map = await state.context.attempt(() => state.context.fetchJson(`/api/memory/map?being=${state.being.id}`));
  if (asked !== state.asked) return; // a newer one is under way
  replace(state.wait, map ? null : "The map could not be drawn.");
  if (!map) return;
  state.map = map;
  state.drawn.take(map);
  state.drawn.select(state.detail.hidden ? null : state.detail.dataset.node);
  replace(state.about, mapped(map));
  redraw(state.topics, () => replace(state.topics, legend(state)));
}

function mapped(map) {
  return map.total > map.ids.length ? `The newest ${map.ids.length.toLocaleString("en")} of ${map.total.toLocaleString("en")}` : counted(map.total, "memory", "memories");
}

function mapCard(state) {
  const canvas = element("canvas", {
    class: "memory-map",
    tabindex: "0",
    role: "img",
    "aria-label": "A map of the memories: near is alike. Arrow keys move it, plus and minus zoom, 0 shows all, Enter opens the one in the middle. The list below has the same memories.",
  });
  const tip = element("p", { class: "map-tip", hidden: true });
  const drawn = showMap(canvas, NO_MAP, { onOpen: state.open, onPoint: pointed(state, tip), isDark: () => dark.matches });
  dark.addEventListener("change", drawn.draw);
  state.context.onLeave(() => dark.removeEventListener("change", drawn.draw));
  state.drawn = drawn;
  state.wait = element("p", { class: "map-wait", role: "status" }, "The map is being drawn…");
  return element(
    "div",
    { class: "card map-card" },
    canvas,
    state.wait,
    tip,
    element(
      "p",
      { class: "map-tools" },
      state.about,
      button("+", () => drawn.zoom(1.4), { "aria-label": "Zoom in" }),
      button("−", () => drawn.zoom(1 / 1.4), { "aria-label": "Zoom out" }),
      button("Whole", () => drawn.whole()),
    ),
  );
}

/** Says what lies under the pointer, once it rests there. */
function pointed(state, tip) {
  const known = new Map();
  let timer = 0;
  return (id, x, y) => {
    clearTimeout(timer);
    tip.hidden = true;
    if (id === null) return;
    timer = setTimeout(async () => {
      if (!known.has(id)) {
        const found = await state.context.fetchJson(`/api/memory/node?being=${state.being.id}&id=${id}`).catch(() => null);
        known.set(id, found ? found.node.scene.action : "");
      }
      const text = known.get(id);
      replace(tip, text.length > 160 ? `${text.slice(0, 159)}…` : text);
      tip.style.left = `${x}px`;
      tip.style.top = `${y}px`;
      tip.hidden = !text;
    }, 120);
  };
}

function legend(state) {
  const there = state.map.topics.map((one, at) => ({ ...one, at })).filter((one) => one.memories);
  const choose = (id) => context_attempt(state, async () => {
    state.topic = state.topic === id ? "" : id;
    for (const one of node.children) one.setAttribute("aria-pressed", String(one.dataset.topic === state.topic));
    await drawList(state, 0);
    announce(state.topic ? "The list has this topic" : "The list has every topic");
  });
  const node = element(
    "div",
    { class: "topics", role: "group", "aria-label": "Topics" },
    there.map((one) => {
      const dot = element("span", { class: "dot" });
      dot.style.background = topicColour(one.at, dark.matches);
      return element("button", { type: "button", "aria-pressed": String(one.id === state.topic), "data-topic": one.id, title: one.digest || null, onclick: () => choose(one.id) }, dot, `${one.name} `, element("span", { class: "dim" }, one.memories.toLocaleString("en")));
    }),
  );
  return node;
}

const context_attempt = (state, act) => state.context.attempt(act);

function memoryRow(state) {
  return (node) => {
    const about = [STATES[node.status], node.pinned ? "pinned" : ""].filter(Boolean);
    return element(
      "li",
      {},
      button([element("span", { class: "text" }, shortened(node.scene.action)), element("span", { class: "dim small" }, `told ${dayOf(node.created)}`, about.map((one) => ` · ${one}`))], () => state.open(node.id), { class: "memory-line" }),
    );
  };
}

const shortened = (text, most = 300) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

async function drawList(state, offset) {
  state.offset = offset;
  const query = new URLSearchParams({ being: state.being.id, topic: state.topic, offset });
  const { memories, more } = await state.context.fetchJson(`/api/memory/list?${query}`);
  const name = state.map.topics.find((one) => one.id === state.topic)?.name;
  replace(
    state.list,
    element("h2", {}, name ? `${name}, last told first` : "Last told first"),
    memories.length ? element("ol", { class: "memories" }, memories.map(memoryRow(state))) : element("p", { class: "dim" }, "None."),
    pager({
      text: memories.length ? `${offset + 1} to ${offset + memories.length}` : "",
      back: offset > 0 && (() => state.context.attempt(() => drawList(state, Math.max(0, offset - 50)))),
      on: more && (() => state.context.attempt(() => drawList(state, offset + 50))),
    }),
  );
}

function searchForm(state) {
  const { parameters } = state.context;
  const query = element("input", { type: "search", maxlength: "2000", autocomplete: "off", placeholder: "Words, a question, anything", value: parameters.get("query") || "" });
  const asOf = element("input", { type: "date", value: parameters.get("as_of") || "" });
  const submit = (event) => {
    event.preventDefault();
    state.sought = query.value.trim() ? { query: query.value.trim(), ...(asOf.value ? { as_of: asOf.value } : {}) } : {};
    state.context.remember({ being: state.being.id, ...state.sought });
    return state.context.attempt(() => search(state));
  };
  state.endSearch = () => {
    query.value = "";
    state.sought = {};
    state.context.remember({ being: state.being.id });
    home(state, state.row);
    state.found.hidden = true;
  };
  return element("form", { class: "memory-search", role: "search", onsubmit: submit }, field("Search", query), field("As of", asOf), element("button", { class: "primary" }, "Search"));
}

async function search(state) {
  if (!state.sought.query) return state.endSearch();
  const asked = new URLSearchParams({ being: state.being.id, ...state.sought });
  const { told, nearest, kind } = await state.context.fetchJson(`/api/memory/search?${asked}`);
  const how = kind === "keyword" ? "by words alone" : "by meaning and words";
  announce(told.length ? `${counted(told.length, "memory", "memories")} found` : "Nothing told fits");
  const list = (hits) => element("ol", { class: "memories" }, hits.map((hit) => hitRow(state, hit)));
  const title = told.length ? "What recall would tell" : nearest.length ? "Nothing told fits; the nearest are:" : "Nothing was found";
  home(state, state.row); // it may stand in what is drawn anew
  replace(
    state.found,
    element("div", { class: "spread" }, element("h2", {}, title), element("p", { class: "dim small" }, `${how}, the best first `, button("Close", state.endSearch, { class: "quiet" }))),
    told.length > 0 && list(told),
    nearest.length > 0 && (told.length ? element("details", { class: "less-near" }, element("summary", {}, `Less near: ${nearest.length}`), list(nearest)) : list(nearest)),
  );
  state.found.hidden = false;
  if (!state.detail.hidden) home(state, placeOf(state, state.detail.dataset.node));
}

/** Where the card of a memory stands: under its line in what was found, or beside the map. */
function placeOf(state, id) {
  const line = state.found.hidden ? null : [...state.found.querySelectorAll(".hit")].find((one) => one.dataset.node === id);
  line?.closest("details")?.setAttribute("open", "");
  return line || state.row;
}

function home(state, place) {
  if (state.detail.parentElement === place) return;
  const focused = state.detail.contains(document.activeElement) ? document.activeElement : null;
  place.append(state.detail);
  focused?.focus({ preventScroll: true });
}

/** What speaks for a memory, in words; the first that holds is said first. */
const REASONS = [
  ["same words", (one) => one.words > 0],
  ["near in meaning", (one) => one.meaning >= 0.25],
  ["about who is named", (one) => one.mentioned > 0],
  ["of that time", (one) => one.time > 0],
  ["fits what was said around it", (one) => one.words_around > 0 || one.words_before > 0 || one.words_after > 0],
];
const isRecent = (signals) => signals.recent > 0.8;

function hitRow(state, { node, score, signals }) {
  const why = REASONS.filter(([, holds]) => holds(signals)).map(([name]) => name);
  if (!Object.keys(signals).length) why.push("part of what is known of you"); // told of the one who asks, not found by a search
  else if (!why.length) why.push("little speaks for it");
  else if (isRecent(signals)) why.push("said recently");
  const numbers = Object.entries(signals).map(([name, value]) => `${name.replaceAll("_", " ")} ${value.toFixed(2)}`).join(" · ");
  return element(
    "li",
    { class: "hit", "data-node": node.id },
    button([element("span", { class: "text" }, shortened(node.scene.action)), element("span", { class: "dim small" }, `of ${happened(node)}`)], () => state.open(node.id), { class: "memory-line" }),
    numbers ? element("details", {}, element("summary", { class: "small" }, `${why.join(", ")} · score ${score.toFixed(2)}`), element("p", { class: "small dim" }, numbers)) : element("p", { class: "small dim" }, why.join(", ")),
  );
}

// ---- one memory

async function openNode(state, id) {
  await showNode(state, id);
  state.drawn?.select(id);
  home(state, placeOf(state, id));
  state.detail.hidden = false;
  state.detail.querySelector("h2").focus();
}

async function showNode(state, id) {
  drawNode(state, await state.context.fetchJson(`/api/memory/node?being=${state.being.id}&id=${id}`));
  state.detail.dataset.node = id;
}

function drawNode(state, { node, topic, before, after }) {
  const { scene, source } = node;
  const close = () => {
    state.detail.hidden = true;
    state.drawn?.select(null);
    state.detail.closest(".hit")?.querySelector("button").focus();
  };
  replace(
    state.detail,
    element("div", { class: "spread" }, element("h2", { tabindex: "-1", class: "memory-text" }, shortened(scene.action, 2000)), button("×", close, { class: "quiet", "aria-label": "Close this memory" })),
    element("p", {}, STATES[node.status] && badge(STATES[node.status], "warn"), node.pinned && badge("pinned", "good"), node.ended && badge("not known any more", "bad")),
    facts([
      ["When", scene.when?.length ? scene.when.map(longDay).join(", ") : dayOf(node.created)],
      ["Who", scene.actors?.join(", ")],
      ["Where", scene.setting],
      ["Feeling", scene.feeling],
      ["Themes", scene.themes?.join(", ")],
      ["Topic", topic],
      ["Importance", (scene.importance ?? 0.5).toFixed(2)],
      ["Recalled", counted(node.reactivation_count, "time")],
      ["Said by", source.speaker],
      ["Conversation", source.conversation],
      ["Told", moment(node.created)],
      ["Id", element("code", {}, node.id)],
    ]),
    chain(before, after),
    after ? null : nodeActions(state, node),
  );
}

function chain(before, after) {
  if (!before.length && !after) return null;
  return element(
    "div",
    { class: "before" },
    element("h3", {}, "What was so before"),
    element(
      "ul",
      {},
      after && element("li", {}, element("span", { class: "dim" }, `Since ${dayOf(after.was.ended)}: `), after.now ? shortened(after.now.scene.action) : after.how),
      before.map((fact) => element("li", {}, element("span", { class: "dim" }, `Until ${dayOf(fact.was.ended)}: `), shortened(fact.was.scene.action))),
    ),
  );
}

function nodeActions(state, node) {
  const act = (what) => () => state.context.attempt(what);
  return element(
    "p",
    { class: "actions" },
    button("Edit", act(() => edit(state, node)), { class: "primary" }),
    button("Forget", act(() => forget(state, node)), { class: "danger" }),
    button(node.pinned ? "Let it fade" : "Pin", act(() => pin(state, node))),
  );
}

/** Says what was done, with its Undo, which says `again`: what is so once more. */
function undoable(state, text, again, entry) {
  const undo = async () => {
    // Not the page's own: it may have been left, and what it asked for is dropped then.
    await fetchJson("/api/memory/undo", { body: { being: state.being.id, entry } });
    toast(again);
    state.reload();
  };
  offered.set(`${state.being.id} ${entry}`, toast(text, { undo }));
}

const offered = new Map(); // the messages with an Undo, by Being and entry

/** Takes away each Undo of what was undone elsewhere. */
async function endOffers({ context, being }) {
  for (const [key, message] of offered) {
    const [id, entry] = key.split(" ");
    if (!message.isConnected) offered.delete(key);
    else if (id === being.id) {
      const { entries } = await context.fetchJson(`/api/memory/history?being=${id}&before=${Number(entry) + 1}&limit=1`);
      if (entries[0]?.n === Number(entry) && entries[0].undone_by !== null) message.remove();
    }
  }
}

async function edit(state, node) {
  const text = element("textarea", { rows: "4", value: node.scene.action });
  const why = element("input", { maxlength: "500" });
  const body = element("div", { class: "stack" }, element("p", { class: "dim" }, "What is so now, from today on. What was so before is kept, and this can be undone."), field("Memory", text), field("Why (for the history)", why));
  const isChanged = () => text.value.trim() !== node.scene.action;
  const save = async () => {
    if (!isChanged()) throw new Error("The text is as it was: there is nothing to save.");
    return restated();
  };
  const restated = () => state.context.fetchJson("/api/memory/restate", { body: { being: state.being.id, id: node.id, text: text.value, why: why.value } });
  const saved = await dialog({ title: "Edit this memory", body, unsaved: isChanged, actions: [{ label: "Save", act: save, kind: "primary" }, { label: "Cancel", value: null }] });
  if (!saved) return;
  const { removed, entry, node: made } = saved;
  undoable(state, removed || `Saved: “${shortened(made.scene.action, 60)}”`, `Undone: it is again “${shortened(node.scene.action, 60)}”`, entry);
  state.context.go("memory", { being: state.being.id, ...state.sought, node: made.id });
}

async function forget(state, node) {
  const why = element("input", { maxlength: "500" });
  const body = element("div", {}, element("p", { class: "text" }, shortened(node.scene.action)), element("p", { class: "dim" }, "Nothing recalls it any more. This can be undone."), field("Why (for the history)", why));
  if (!(await confirm({ title: "Forget this memory?", body, action: "Forget", kind: "danger" }))) return;
  const { entry } = await state.context.fetchJson("/api/memory/forget", { body: { being: state.being.id, id: node.id, why: why.value } });
  undoable(state, `Forgotten: “${shortened(node.scene.action, 60)}”`, `Undone: “${shortened(node.scene.action, 60)}” is remembered again`, entry);
  state.reload();
}

async function pin(state, node) {
  await state.context.fetchJson("/api/memory/pin", { body: { being: state.being.id, id: node.id, on: !node.pinned } });
  await openNode(state, node.id);
  toast(node.pinned ? "It may fade again" : "It never fades now");
}

// ---- days

async function drawDays(page, offset = 0, until = page.context.parameters.get("until") || "") {
  const { context, being, place } = page;
  const query = new URLSearchParams({ being: being.id, offset, until });
  const { total, months, scenes } = await context.fetchJson(`/api/memory/timeline?${query}`);
  const days = Map.groupBy ? Map.groupBy(scenes, ([day]) => day) : grouped(scenes);
  const open = (node) => page.go({ node: node.id });
  const again = (to) => () => context.attempt(() => drawDays(page, to, until));
  page.again = () => drawDays(page, offset, until);
  replace(
    place,
    scenes.length || until ? monthStrip(page, months, until) : emptyState("No scene yet", "What happened, and when, comes here."),
    [...days].map(([day, those]) =>
      element(
        "section",
        { class: "day" },
        element("h2", {}, longDay(day)),
        element("ul", {}, those.map(([, node]) => element("li", {}, button(shortened(node.scene.action), () => open(node), { class: "link text" }), node.scene.actors?.length ? element("span", { class: "dim small" }, ` ${node.scene.actors.join(", ")}`) : null))),
      ),
    ),
    pager({ text: total ? `${offset + 1} to ${offset + scenes.length} of ${total.toLocaleString("en")}` : "", back: offset > 0 && again(Math.max(0, offset - 50)), on: offset + scenes.length < total && again(offset + 50) }),
  );
}

function grouped(scenes) {
  const found = new Map();
  for (const one of scenes) found.set(one[0], [...(found.get(one[0]) || []), one]);
  return found;
}

const MOST_MONTHS = 36;

function monthStrip(page, months, until) {
  const all = Object.entries(months).sort().slice(-MOST_MONTHS);
  const most = Math.max(1, ...all.map(([, number]) => number));
  return element(
    "div",
    { class: "months", role: "group", "aria-label": "Months" },
    all.map(([month, number]) => {
      const bar = element("span", { class: "month-bar" });
      bar.style.height = `${Math.max(6, (number / most) * 48)}px`;
      const title = new Date(`${month}-15`).toLocaleDateString([], { month: "short", year: "numeric" });
      const label = `${title}: ${counted(number, "memory", "memories")}`;
      return element("button", { type: "button", class: "month", title: label, "aria-label": label, "aria-pressed": String(month === until), onclick: () => page.go({ view: "days", ...(month === until ? {} : { until: month }) }) }, bar, element("span", { class: "small" }, title));
    }),
  );
}

// ---- what changed, fact by fact

async function drawFacts(page, offset = 0) {
  const { context, being, place } = page;
  page.again = () => drawFacts(page, offset);
  const { facts: found, more } = await context.fetchJson(`/api/memory/facts?being=${being.id}&offset=${offset}`);
  if (!found.length && !offset) {
    replace(place, emptyState("Nothing has changed yet", "When something stops being so, it is shown here with what is so instead."));
    return;
  }
  const again = (to) => () => context.attempt(() => drawFacts(page, to));
  const undo = (entry, said) => () => context.attempt(() => undoEntry(page, entry, () => drawFacts(page, offset), said));
  const fact = ({ was, how, now, why, entry }) =>
    element(
      "li",
      { class: "card fact" },
      element("p", { class: "was" }, element("span", { class: "until" }, `Until ${dayOf(was.ended)}: `), element("span", { class: "text" }, shortened(was.scene.action))),
      now ? element("p", { class: "now" }, element("span", { class: "until" }, "Now: "), button(shortened(now.scene.action), () => page.go({ node: now.id }), { class: "link text" })) : null,
      element("p", { class: "dim small spread" }, element("span", {}, how, why && !why.startsWith(how) ? ` · ${shortened(why)}` : ""), entry !== null && button("Undo", undo(entry, `${how}: ${was.scene.action}`), { class: "quiet" })),
    );
  replace(place, element("ol", { class: "fact-list" }, found.map(fact)), pager({ text: `${offset + 1} to ${offset + found.length}`, back: offset > 0 && again(Math.max(0, offset - 50)), on: more && again(offset + 50) }));
}

async function undoEntry(page, entry, reload, what = "") {
  await page.context.fetchJson("/api/memory/undo", { body: { being: page.being.id, entry } });
  toast(`Undone: ${shortened(what, 120) || entry}`);
  await endOffers(page);
  await redraw(page.place, reload);
}

async function drawHistory(page, before = 0, earlier = []) {
  const { context, being, place } = page;
  page.again = () => drawHistory(page, before, earlier);
  const { entries, more } = await context.fetchJson(`/api/memory/history?being=${being.id}&before=${before}`);
  const undo = (one) => context.attempt(() => undoEntry(page, one.n, () => drawHistory(page, before, earlier), one.text));
  const back = earlier.length && (() => context.attempt(() => drawHistory(page, earlier.at(-1), earlier.slice(0, -1))));
  const on = more && (() => context.attempt(() => drawHistory(page, entries.at(-1).n, [...earlier, before])));
  replace(
    place,
    table({
      caption: "What was done to this memory, the newest first",
      columns: [
        { title: "No.", cell: (one) => String(one.n), class: "number" },
        { title: "When", cell: (one) => moment(one.at), class: "nowrap" },
        { title: "What", cell: (one) => element("span", { class: "text" }, one.text) },
        { title: "By", cell: (one) => one.by || "you", class: "dim" },
        { title: "", spoken: "Undo", cell: (one) => (one.undone_by !== null ? element("span", { class: "dim nowrap" }, `undone by ${one.undone_by}`) : one.kind === "erased" ? "" : button("Undo", () => undo(one), { class: "quiet", "aria-label": `Undo ${one.n}` })) },
      ],
      rows: entries,
      empty: "Nothing was done to this memory yet.",
    }),
    pager({ text: entries.length ? `${entries.at(-1).n} to ${entries[0].n}` : "", back, on, onLabel: "Older", backLabel: "Newer" }),
  );
}

// ---- tokens

async function drawAccess(page) {
  const { context, being, place } = page;
  page.again = () => drawAccess(page);
  const tokens = await context.fetchJson(`/api/memory/tokens?being=${being.id}`);
  const revoke = (one) => context.attempt(async () => {
    const body = element("p", {}, `Whoever holds the token ${one.label ? `“${one.label}” ` : ""}(${one.id.slice(0, 8)}) reaches this Being no longer.`);
    if (!(await confirm({ title: "Revoke this token?", body, action: "Revoke", kind: "danger" }))) return;
    await context.fetchJson("/api/memory/tokens/revoke", { body: { being: being.id, token: one.id } });
    toast(`Revoked: ${one.label || one.id.slice(0, 8)}`);
    await redraw(place, () => drawAccess(page));
  });
  const state = (one) => (one.good ? badge(one.expires ? `until ${dayOf(one.expires)}` : "good", "good") : badge(one.revoked ? "revoked" : "expired", "bad"));
  replace(
    place,
    element("div", { class: "spread" }, element("p", { class: "dim" }, "A token lets a client reach this Being over HTTP. It is shown once, when it is made."), button("New token", () => context.attempt(() => createToken(page)), { class: "primary" })),
    table({
      caption: "Tokens of this Being",
      columns: [
        { title: "Label", cell: (one) => one.label || element("span", { class: "dim" }, "none") },
        { title: "Id", cell: (one) => element("code", { title: one.id }, one.id.slice(0, 8)) },
        { title: "May", cell: (one) => (one.owner && one.scope === "full" ? "full, owner" : one.scope) },
        { title: "Person", cell: (one) => one.person || "" },
        { title: "State", cell: state },
        { title: "Last used", cell: (one) => (one.used === null ? "never" : ago(one.used)), class: "nowrap" },
        { title: "", spoken: "Revoke", cell: (one) => (one.good ? button("Revoke", () => revoke(one), { class: "danger", "aria-label": `Revoke ${one.label || one.id.slice(0, 8)}` }) : "") },
      ],
      rows: tokens,
      empty: "No token was made yet.",
    }),
  );
}

async function createToken(page) {
  const label = element("input", { maxlength: "200" });
  const person = element("input", { maxlength: "200" });
  const scope = element("select", {}, element("option", { value: "full" }, "full: read and write memories"), element("option", { value: "read-only" }, "read-only"));
  const expires = element("input", { placeholder: "never, or 30d, 12h, 2027-01-31" });
  const owner = element("input", { type: "checkbox", id: "token-owner" });
  const body = element("div", { class: "stack" }, field("Label", label), field("May", scope), field("Person", person, "Who says “I” through it, in a shared Being."), field("Expires", expires), element("p", { class: "check" }, owner, element("label", { for: "token-owner" }, "It may also write soul, rules, preferences and relationships: what clients obey.")));
  const make = () => page.context.fetchJson("/api/memory/tokens/create", { body: { being: page.being.id, label: label.value, person: person.value, scope: scope.value, expires: expires.value, owner: owner.checked } });
  const made = await dialog({ title: "New token", body, actions: [{ label: "Make it", act: make, kind: "primary" }, { label: "Cancel", value: null }] });
  if (!made) return;
  await showSecret("The token, this once", made.token);
  await redraw(page.place, () => drawAccess(page));
}

export async function showSecret(title, secret, more) {
  const copy = button("Copy", async () => {
    await navigator.clipboard.writeText(secret);
    toast("Copied");
  });
  await dialog({ title, body: element("div", {}, element("pre", { class: "secret", tabindex: "0" }, secret), element("p", {}, copy), more, element("p", { class: "dim" }, "It is kept nowhere and not shown again.")), actions: [{ label: "I have it", value: true, kind: "primary" }], keep: true });
}

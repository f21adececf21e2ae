// The page Sessions: what was said, with pictures, tool steps, tokens and cost.

import { ago, badge, button, confirm, counted, element, emptyState, fetchFile, field, focusOn, longText, moment, pagedTable, problem, redraw, replace, toast, visible } from "../console.js";
import { markdown } from "../markdown.js";

const ENDS = { "": "", end: "", command: "", length: "cut short", refusal: "declined", lost: "interrupted" };
const MOST_MESSAGES = 200; // in the page at once
const NAMES = { user: "You", assistant: "Assistant", tool: "Tool" };

export async function show(root, context) {
  const key = context.parameters.get("key");
  if (key !== null) await showSession(root, context, key);
  else await showList(root, context);
}

async function showList(root, context) {
  const contains = element("input", { type: "search", value: context.parameters.get("contains") || "", autocomplete: "off" });
  const list = pagedTable({
    caption: "Sessions, the last used first",
    columns: [
      { title: "Begins with", cell: (one) => shortened(one.title) || one.key, class: "free" },
      { title: "Session", cell: (one) => element("span", { class: "dim" }, shortened(one.key, 40)), class: "name" },
      { title: "From", cell: (one) => one.origin, class: "dim" },
      { title: "Model", cell: (one) => one.model || "", class: "dim" },
      { title: "Messages", cell: (one) => one.messages.toLocaleString("en"), class: "number" },
      { title: "Last used", cell: (one) => ago(one.updated), class: "nowrap" },
      { title: "", spoken: "State", cell: (one) => state(one) },
    ],
    onOpen: (one) => context.go("sessions", { key: one.key }),
    empty: "No session is like this.",
    load: async ({ offset, limit }) => {
      const found = await context.fetchJson(`/api/sessions/list?${new URLSearchParams({ offset, limit, contains: contains.value.trim() })}`);
      stamp = found.stamp;
      return found;
    },
  });
  const first = await context.fetchJson("/api/sessions/list?limit=1");
  let stamp = first.stamp;
  if (!first.total) {
    context.follow("sessions", () => stamp, context.reload);
    root.append(emptyState("No session yet", "A message to the assistant begins one: from an MCP client (see Connect), `claw ask \"…\"`, or `claw chat`."));
    return;
  }
  const find = (event) => {
    event.preventDefault();
    context.remember(contains.value.trim() ? { contains: contains.value.trim() } : {});
    context.attempt(() => list.reload(0));
  };
  root.append(element("form", { class: "memory-search short", role: "search", onsubmit: find }, field("Find a session by its name or first words", contains), element("button", { class: "primary" }, "Find")), list.node);
  await list.reload(0);
  context.follow("sessions", () => stamp, () => redraw(list.node, () => list.reload()));
}

const shortened = (text, most = 120) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function state(one) {
  if (one.running) return badge("running", "good");
  const how = one.last_reason.split(":")[0];
  const said = how in ENDS ? ENDS[how] : how;
  return said ? badge(said, "warn") : "";
}

async function showSession(root, context, key) {
  const place = element("div", { class: "transcript" });
  const head = element("div", {});
  const earlier = element("div", {});
  const later = element("div", {});
  const drawn = new Map(); // what was drawn stays as it is: open, played, loaded
  let shown = await context.fetchJson(address(key)).catch((error) => {
    if (error.status !== 404) throw error;
    root.append(problem(error.message), element("p", {}, element("a", { href: "#/sessions" }, "All sessions")));
  });
  if (!shown) return;
  let ours = false; // whether it is deleted here

  /** The newest part again: what came is added to what is shown. */
  async function update() {
    const now = await context.fetchJson(address(key)).catch((error) => {
      if (error.status !== 404) throw error;
    });
    if (!now) {
      if (ours) return;
      context.go("sessions");
      toast("This session was deleted elsewhere.");
      return;
    }
    if (shown.cut) {
      shown.stamp = now.stamp; // who reads what was said before is not moved about
      return;
    }
    const from = now.messages[0]?.id ?? 0;
    const before = shown.messages.filter((one) => one.id < from);
    const gap = now.more && before.length && !shown.messages.some((one) => one.id >= from);
    shown = gap ? now : joined(now, { messages: before, turns: shown.turns, more: before.length ? shown.more : now.more });
    if (shown.messages.length > MOST_MESSAGES) shown = { ...shown, more: true, messages: shown.messages.slice(-MOST_MESSAGES) };
    await redraw(root, draw);
  }

  const showEarlier = () => context.attempt(async () => {
    const older = await context.fetchJson(address(key, shown.messages[0].id));
    shown = joined(shown, older);
    if (shown.messages.length > MOST_MESSAGES) shown = { ...shown, cut: true, messages: shown.messages.slice(0, MOST_MESSAGES) };
    draw();
  });

  const showNewest = () => context.attempt(async () => {
    shown = await context.fetchJson(address(key));
    draw();
    place.lastElementChild?.scrollIntoView({ block: "end" });
  });

  function draw() {
    replace(head, heading(shown, context, () => (ours = true)), usage(shown), once(drawn, shown.summary, () => summary(shown)));
    replace(earlier, shown.more && button("Show what was said before", showEarlier));
    replace(later, shown.cut && button("Show the newest", showNewest));
    replace(place, shown.messages.length ? messages(shown, key, drawn) : element("p", { class: "dim" }, "Nothing was said here."));
  }

  root.append(head, earlier, place, later);
  draw();
  context.follow("sessions", () => shown.stamp, update);
}

/** A part of a session with what was said before it. */
function joined(newer, older) {
  return { ...newer, more: older.more, messages: [...older.messages, ...newer.messages], turns: [...older.turns, ...newer.turns] };
}

const address = (key, before) => `/api/sessions/show?${new URLSearchParams({ key, ...(before ? { before } : {}) })}`;

function heading({ info }, context, onDelete) {
  const remove = () => context.attempt(async () => {
    const body = element("p", {}, `“${shortened(info.title || info.key)}”, ${counted(info.messages, "message")}, with its pictures. Nothing brings it back.`);
    if (!(await confirm({ title: "Delete this session for good?", body, action: "Delete", kind: "danger" }))) return;
    onDelete();
    await context.fetchJson("/api/sessions/delete", { body: { key: info.key } });
    context.go("sessions");
    toast(`Deleted: “${shortened(info.title || info.key, 60)}”`);
  });
  return element(
    "div",
    { class: "session-head" },
    element("p", {}, element("a", { href: "#/sessions" }, "All sessions")),
    element("h2", { class: "text" }, shortened(info.title || info.key, 300)),
    element("p", { class: "dim small" }, [info.key, info.origin, info.model, counted(info.messages, "message"), info.named ? "" : "goes after 30 days without use"].filter(Boolean).join(" · "), " · ", moment(info.updated)),
    element("p", { class: "actions" }, button("Export as JSON lines", () => context.attempt(() => download(`/api/sessions/export?${new URLSearchParams({ key: info.key })}`, `session-${info.key}.jsonl`))), button("Delete", remove, { class: "danger" })),
  );
}

const amount = (value, currency) => {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency, maximumFractionDigits: value < 1 ? 4 : 2 }).format(value);
  } catch {
    return `${value.toFixed(4)} ${visible(currency)}`;
  }
};

function usage({ usage: models, costs, unpriced }) {
  const names = Object.keys(models);
  if (!names.length) return element("p", { class: "dim small" }, "No provider counted tokens here.");
  const total = (what) => names.reduce((sum, name) => sum + models[name][what], 0).toLocaleString("en");
  const cost = Object.entries(costs).map(([currency, value]) => amount(value, currency)).join(" + ");
  return element(
    "div",
    { class: "cards" },
    card("Tokens in", total("input")),
    card("of them cached", total("cached")),
    card("Tokens out", total("output")),
    card("Cost", cost || "–", unpriced.length ? `No price for ${unpriced.join(", ")}: config.toml can give one, under [prices."${unpriced[0]}"].` : ""),
  );
}

function card(title, value, hint) {
  return element("div", { class: "card" }, element("p", { class: "dim small" }, title), element("p", { class: "figure" }, value), hint && element("p", { class: "hint" }, hint));
}

function summary({ summary: text }) {
  if (!text) return "";
  return element("details", { class: "card" }, element("summary", {}, "Summary of what came first"), longText(text));
}

function once(drawn, name, draw) {
  if (!drawn.has(name)) drawn.set(name, draw());
  return drawn.get(name);
}

function messages({ messages: found, turns }, key, drawn) {
  const nodes = [];
  const byId = new Map(turns.map((one) => [one.id, one]));
  const tools = new Map(found.flatMap((one) => one.parts.filter((part) => part.type === "call").map((part) => [part.id, part.name])));
  const named = (one) => ({ ...one, parts: one.parts.map((part) => (part.type === "outcome" ? { ...part, tool: tools.get(part.call_id) } : part)) });
  found.forEach((one, at) => {
    if (at && one.epoch !== found[at - 1].epoch) nodes.push(element("p", { class: "note" }, "Begun anew: what stands above is no longer remembered."));
    nodes.push(once(drawn, JSON.stringify(named(one)), () => message(named(one), key)));
    if (found[at + 1]?.turn !== one.turn) nodes.push(turnEnd(byId.get(one.turn)));
  });
  return nodes.filter(Boolean);
}

function turnEnd(turn) {
  if (!turn) return null;
  const { input, output, cached } = turn.usage;
  const how = turn.reason.split(":")[0];
  const ended = how in ENDS ? ENDS[how] : turn.reason;
  const cost = Object.entries(turn.costs).map(([currency, value]) => amount(value, currency)).join(" + ");
  return element(
    "p",
    { class: "turn-end" },
    [turn.model, input || output ? `${input.toLocaleString("en")} in${cached ? ` (${cached.toLocaleString("en")} cached)` : ""}, ${output.toLocaleString("en")} out` : "", cost].filter(Boolean).map((one) => element("span", {}, one)),
    turn.ended ? element("span", {}, `${(turn.ended - turn.began).toFixed(1)} s`) : badge("running", "good"),
    ended && badge(ended, "warn"),
  );
}

function message(one, key) {
  const about = element("p", { class: "who" }, `${NAMES[one.role] || one.role}, `, moment(one.created));
  const isAnswer = one.role === "assistant";
  return element("article", { class: `said ${one.role === "user" ? "user" : "other"}` }, about, one.parts.map((part) => (isAnswer && part.type === "text" ? answer(part.text) : drawPart(part, key))));
}

const MOST_WORDS = 6000;

/** What a model wrote, with its lists and code; a long one is shown whole when it is asked for. */
function answer(text) {
  const bubble = element("div", { class: "bubble written" });
  const cut = text.length > MOST_WORDS ? text.lastIndexOf("\n", MOST_WORDS) : text.length;
  const end = cut > 0 ? cut : MOST_WORDS;
  replace(bubble, markdown(text.slice(0, end)));
  if (end >= text.length) return bubble;
  const more = button(`Show ${counted(text.length - end, "more character")}`, () => {
    replace(bubble, markdown(text));
    focusOn(bubble, { preventScroll: true });
  });
  bubble.append(more);
  return bubble;
}

const PARTS = {
  text: (part) => (part.text.length > MOST_WORDS ? longText(part.text, MOST_WORDS) : element("div", { class: "bubble" }, part.text)),
  image: picture,
  file: (part, key) => (part.mime_type.startsWith("image/") ? picture(part, key) : attachment(part, key)),
  call: (part) =>
    element("details", { class: "step" }, element("summary", {}, "Calls ", element("code", {}, part.name)), longText(JSON.stringify(part.arguments, null, 2))),
  outcome: (part, key) =>
    element("details", { class: `step ${part.is_error ? "bad" : ""}`, open: part.is_error }, element("summary", {}, outcome(part)), part.parts.map((inner) => (inner.type === "text" ? longText(inner.text) : drawPart(inner, key)))),
};

function outcome({ tool, is_error: failed }) {
  if (!tool) return failed ? "It failed" : "What came of it";
  return failed ? [element("code", {}, tool), " failed"] : ["What came of ", element("code", {}, tool)];
}

function drawPart(part, key) {
  return (PARTS[part.type] || (() => longText(JSON.stringify(part))))(part, key);
}

const media = (key, digest) => `/api/sessions/media?${new URLSearchParams({ key, digest })}`;

/** Saves a file that the console gives, under a name that says nothing else than it seems to. */
async function download(address, name) {
  const file = URL.createObjectURL(await fetchFile(address));
  const link = element("a", { download: name.replaceAll(/[^\p{L}\p{N}_. -]+/gu, "-").replace(/^[.\s-]+/, "").slice(-80) || "file" });
  link.href = file; // of our own making
  link.click();
  setTimeout(() => URL.revokeObjectURL(file), 60_000);
}

/** As answers say it: see `readable` in the assistant. */
const sized = (bytes) => (bytes < 1024 ? counted(bytes, "byte") : bytes < 1048576 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1048576).toFixed(1)} MB`);
const described = ({ mime_type: type, name, size }) => `${name}, ${type}, ${sized(size)}`;

function picture(part, key) {
  if (!/^image\/(png|jpeg|gif|webp)$/.test(part.mime_type)) return attachment(part, key);
  const image = element("img", { class: "picture", alt: part.name });
  const reader = new FileReader();
  reader.addEventListener("load", () => (image.src = reader.result));
  fetchFile(media(key, part.digest)).then((file) => reader.readAsDataURL(file), () => null);
  return element("figure", { class: "media" }, image, element("figcaption", { class: "dim small" }, described(part)));
}

/** A file that is played, if it is sound, and can be saved. */
function attachment(part, key) {
  const player = part.mime_type.startsWith("audio/") && element("span", {});
  const attempt = async (act) => {
    try {
      await act();
    } catch (error) {
      toast(error.message, { kind: "bad" });
    }
  };
  const play = () => attempt(async () => {
    const sound = element("audio", { controls: true, "aria-label": part.name });
    sound.src = URL.createObjectURL(await fetchFile(media(key, part.digest)));
    replace(player, sound);
    sound.focus();
    await sound.play().catch(() => null); // what cannot be played says so itself
  });
  if (player) replace(player, button("Play", play, { "aria-label": `Play ${part.name}` }));
  const save = button("Download", () => attempt(() => download(media(key, part.digest), part.name)), { "aria-label": `Download ${part.name}` });
  const read = part.read?.length ? element("details", { class: "small" }, element("summary", {}, "What the model got to read of it"), part.read.map((inner) => (inner.type === "text" ? longText(inner.text) : drawPart(inner, key)))) : null;
  return element("div", { class: "media attached" }, element("div", { class: "spread" }, element("p", { class: "small" }, described(part)), element("p", { class: "row" }, player, save)), read);
}

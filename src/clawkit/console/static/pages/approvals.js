// Approvals: what waits, one call shown whole, and the answers to it.

import { announce, button, calmed, counted, dialog, diff, element, emptyState, facts, focusOn, longText, problem, replace, toast, visible } from "../console.js";

const NOW = { once: "Allow once", session: "Allow these arguments, this session", tool: "Allow this tool, this session" };
const FOR_GOOD = { folder: "Allow this tool in this folder…", tool: "Allow this tool…", call: "Allow these arguments…" };

// As in `claw approvals`.
const KEYS = { once: "a", session: "s", tool: "t", deny: "d", "always-call": "w", "always-folder": "f", "always-tool": "T", read: " " };
const MOVES = { j: 1, k: -1 };
const REST = 1000; // milliseconds after what was typed for something else, in which no key is an answer
const TYPED_ON = "No key counted: the one before was none of these, or the window had just come to the front. Press again.";
const UNHEARD = 4000; // milliseconds without a reply to an answer, after which the page says so
const NO_REPLY = "The console has not replied yet: it is not known whether this answer reached the guard.";
const KEYS_OFF = "claw-keys-off";

export async function show(root, context) {
  const [heading, waiting, past] = [element("div", {}), element("ul", { class: "plain" }), element("div", {})];
  const list = element("section", { class: "asks", "aria-label": "Waiting calls" }, heading, waiting, past);
  const detail = element("section", { class: "ask", "aria-label": "The chosen call" });
  const alone = element("div", {});
  const outcome = element("p", { class: "outcome text", role: "status" });
  // In one column the list is below the call: however many come, what is read stays where it is.
  root.append(outcome, alone, element("div", { class: "approvals" }, detail, list));
  let chosen = context.parameters.get("id") || "";
  let shown = "";
  let card = null; // of the call that is shown
  let asks = [];
  let connected = true;
  const ours = new Set(); // calls that are being answered here
  const unconfirmed = new Set(); // those that were, and of which it is not known yet what came of it
  const items = new Map();

  async function choose(id) {
    const held = detail.contains(document.activeElement);
    chosen = id;
    drawList();
    shown = id;
    card = null;
    if (!id) {
      replace(detail);
      if (held) focusOn(document.querySelector("main h1"));
      return;
    }
    detail.inert = true; // the call before takes no answer any more
    try {
      const question = await context.fetchJson(`/api/approvals/question?id=${encodeURIComponent(id)}`);
      if (chosen !== id) return;
      detail.inert = false;
      card = drawQuestion(detail, question, context, { answered, connected, held });
      tell();
      settle();
    } catch (error) {
      if (error.name === "AbortError" || chosen !== id) return;
      detail.inert = false;
      if (error.status !== 404) replace(detail, problem(error.message));
      else forget([id]), say(error.message), await goOn();
    }
  }

  /** What became of the last call that is no longer shown; it stays until the next one. */
  function say(text) {
    replace(outcome, text);
    outcome.title = visible(text);
  }

  const forget = (ids) => (asks = asks.filter((ask) => !ids.includes(ask.id)));

  async function answered(id, tool, send) {
    const { about = "" } = asks.find((ask) => ask.id === id) || {};
    ours.add(id);
    let done;
    try {
      done = await send();
    } catch (error) {
      ours.delete(id);
      if (asks.some((ask) => ask.id === id)) unconfirmed.add(id);
      settle();
      throw error;
    }
    forget([id, ...done.pending.ended.map((one) => one.id)]); // an answer may be one to others, too
    said(done.words, tool, about);
    if (chosen === id) await goOn({ takes: true });
    if (done.how === "refused") toast(`${tool}: ${done.words}`, { kind: "bad" }); // once it is known where the next answers are
  }

  const said = (words, tool, about) => say(`${words[0].toUpperCase()}${words.slice(1)}: ${[tool, about].filter(Boolean).join(" ")}`);

  /** Opens the next call; where it `takes` somebody there, at its beginning. */
  async function goOn({ takes = false } = {}) {
    await choose(asks.find((ask) => ask.id !== chosen)?.id || "");
    if (takes && card) card.goTo();
    else if (takes && !shown) focusOn(document.querySelector("main h1"));
  }

  const tell = () => card?.tell(asks.find((ask) => ask.id === shown) || {});

  /** What somebody looks at stays where it is, though it waits no longer, unless they have answered it. */
  function settle() {
    if (!card || ours.has(shown) || asks.some((ask) => ask.id === shown)) return undefined;
    const end = ended.findLast((one) => one.id === shown);
    if (end?.how === "covered") return goOn(); // by an answer of a person, too
    if (!unconfirmed.has(shown) || !end) return card.end(end?.words || "answered or withdrawn elsewhere", goOn);
    said(end.words, end.tool, end.about);
    return goOn({ takes: true });
  }

  const keys = element("input", { type: "checkbox", checked: !localStorage.getItem(KEYS_OFF) });
  keys.addEventListener("change", () => (keys.checked ? localStorage.removeItem(KEYS_OFF) : localStorage.setItem(KEYS_OFF, "1")));
  list.append(element("label", { class: "small dim keys" }, keys, "Answer by single keys"));
  let rest = 0;
  const onKey = (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || [...event.key].length > 1) return;
    const name = Object.keys(KEYS).find((one) => KEYS[one] === event.key);
    const elsewhere = event.target.closest(TYPED) || document.querySelector("dialog[open]");
    if (elsewhere || !(name || MOVES[event.key])) rest = event.timeStamp + REST;
    if (event.key === " " && event.target.closest(PRESSED_BY_SPACE)) return;
    if (elsewhere || event.repeat || !keys.checked || !card || !(name || MOVES[event.key])) return;
    const next = asks[asks.findIndex((ask) => ask.id === shown) + MOVES[event.key]];
    if (name === "read" && !card.isUnread()) return; // it scrolls the page
    event.preventDefault();
    if (event.timeStamp < rest) toast(TYPED_ON);
    else if (name) card.press(name, event.timeStamp);
    else if (next) open(next.id);
  };
  document.addEventListener("keydown", onKey, { signal: context.signal });
  // What is typed when the window comes to the front was meant for another one.
  window.addEventListener("focus", () => (rest = performance.now() + REST), { signal: context.signal });

  /** Shows a call that a person chose; where it stands below the list, they are taken there. */
  async function open(id) {
    await choose(id);
    if (card && shown === id && list.offsetTop > detail.offsetTop) card.goTo();
  }

  /** Nothing is drawn anew that stays: a button that is pressed while others come is there when it is let go. */
  function drawList() {
    const focused = list.querySelector("[data-ask]:focus")?.dataset.ask;
    replace(alone, !connected && problem("Not connected: this is what waited when the page last heard of it. Nothing can be answered here now."));
    for (const [id, item] of items) if (!asks.some((ask) => ask.id === id)) item.node.remove(), items.delete(id);
    asks.forEach((ask, at) => {
      if (!items.has(ask.id)) items.set(ask.id, drawItem(ask, () => open(ask.id)));
      const { node, update } = items.get(ask.id);
      if (waiting.children[at] !== node) waiting.insertBefore(node, waiting.children[at] || null);
      update(ask, { chosen: ask.id === chosen, connected });
    });
    replace(
      heading,
      asks.length
        ? element("h2", {}, `${counted(asks.length, "call")} ${asks.length === 1 ? "waits" : "wait"}`)
        : emptyState("Nothing waits for you", "When a prompt rule holds a call while this page is open, you are asked here."),
    );
    replace(past, drawEnded());
    card?.look();
    if (focused && !items.has(focused)) list.querySelector("[data-ask]")?.focus({ preventScroll: true });
  }

  let ended = [];
  function drawEnded() {
    if (!ended.length) return null;
    return [
      element("h2", { class: "later" }, "Before"),
      element(
        "ul",
        { class: "plain small" },
        ended.slice(-10).reverse().map((one) =>
          element("li", {}, element("span", { class: "strong text" }, one.tool), " ", one.about && [element("span", { class: "mono text" }, one.about), " "], element("span", { class: "dim text" }, `${one.server}: ${one.words}`)),
        ),
      ),
    ];
  }

  const first = new Promise((resolve) => {
    context.watch("approvals", async (value) => {
      if (value.error) {
        replace(alone, problem(value.error));
        resolve();
        return;
      }
      ({ asks, ended } = value);
      const still = asks.some((ask) => ask.id === chosen);
      tell();
      if (still && shown === chosen) drawList();
      else if (still) await choose(chosen);
      else if (card) drawList(), settle();
      else await choose(asks[0]?.id || "");
      resolve();
    });
  });
  const tick = () => {
    for (const place of root.querySelectorAll("[data-deadline]")) replace(place, connected ? left(Number(place.dataset.deadline)) : NOT_KNOWN);
  };
  context.watch("connection", (state) => {
    if (state.connected === connected) return;
    connected = state.connected;
    drawList();
    tick();
    card?.connect(connected);
  });
  const clock = setInterval(tick, 1000);
  context.onLeave(() => clearInterval(clock));
  await first;
}

const TYPED = "input:not([type=checkbox]), select, textarea, [contenteditable]";
const PRESSED_BY_SPACE = "button, a, summary, input, .call";
const shortcut = (key) => (key === " " ? "Space" : key === key.toUpperCase() ? `Shift+${key}` : key.toUpperCase());
const NOT_KNOWN = "may be over";

/** A waiting call in the list. */
function drawItem(ask, onclick) {
  const sent = element("span", { class: "small sent text" });
  const clock = element("span", { class: "dim small left", "data-deadline": String(ask.deadline) });
  const shown = element(
    "button",
    { type: "button", class: "ask-item", "data-ask": ask.id, onclick },
    element("span", { class: "strong text" }, ask.tool),
    ask.about && element("span", { class: "mono about text" }, ask.about),
    element("span", { class: "dim small text" }, ask.server),
    clock,
    sent,
  );
  return {
    node: element("li", {}, shown),
    update(now, { chosen, connected }) {
      replace(sent, now.sent);
      replace(clock, connected ? left(now.deadline) : NOT_KNOWN);
      if (chosen) shown.setAttribute("aria-current", "true");
      else shown.removeAttribute("aria-current");
    },
  };
}

function left(deadline) {
  return `${Math.max(0, Math.round(deadline - Date.now() / 1000))} s left`;
}

function drawQuestion(place, question, context, { answered, connected, held }) {
  const text = element(
    "div",
    { class: "call", tabindex: "0", role: "region", "aria-label": "The whole call" },
    question.changes.map(drawChange),
    element("pre", { class: "plain-text" }, question.lines.join("\n")),
  );
  const title = element("h2", {}, question.tool);
  const clock = element("span", { class: "dim small", "data-deadline": String(question.deadline) }, left(question.deadline));
  const state = { read: false, seen: 0, busy: "", over: false, connected, proposing: false, sent: "", denied: false };
  let reader = null;
  let calm = null;

  const answer = async (value, more = {}) => {
    if (state.busy === "deny" || (state.busy && value !== "deny")) return; // a no may follow what is not confirmed
    state.busy = value;
    const body = { id: question.id, digest: question.digest, answer: value, ...more };
    let said = null;
    // What was sent on and waits for the guard is said in the card.
    const late = setTimeout(() => !state.sent && (said = toast(NO_REPLY, { kind: "bad", seconds: 3600 })), UNHEARD);
    await context.attempt(() => answered(question.id, question.tool, () => context.fetchJson("/api/approvals/answer", { body })));
    clearTimeout(late);
    said?.remove();
    if (state.busy === value) state.busy = "";
  };

  const always = (scope) =>
    context.attempt(async () => {
      const proposed = await context.fetchJson(`/api/approvals/rule?id=${encodeURIComponent(question.id)}&scope=${scope}`);
      if (state.over) return;
      state.proposing = true;
      const rule = toBeRead(proposed.shown, "The whole rule");
      const chosen = await dialog({
        title: "Write this rule?",
        body: [
          element("p", {}, "It goes into ", element("code", {}, proposed.file), `, above rule ${proposed.above}, and allows such calls from now on.`),
          rule.nodes,
        ],
        actions: [{ label: "Write it and allow", value: true, kind: "primary" }, { label: "Cancel", value: null }],
        calm: true,
        until: rule.read,
      });
      rule.end();
      state.proposing = false;
      if (chosen) await answer("always", { scope, rule: proposed.rule });
    });

  /** A button of the answers, with the key that presses it; it stays the same one as long as its call is shown. */
  const offer = (name, label, act, more) => {
    const key = KEYS[name];
    return button([label, key && element("kbd", { "aria-hidden": "true" }, key === " " ? "space" : key)], act, { "data-answer": name, "aria-keyshortcuts": key && shortcut(key), ...more });
  };
  const allowing = ["once", ...question.wider].map((value) => offer(value, NOW[value], () => answer(value), { class: value === "once" ? "primary" : null }));
  const ruling = question.scopes.map((scope) => offer(`always-${scope}`, FOR_GOOD[scope], () => always(scope)));
  const deny = offer("deny", "Deny", () => answer("deny"), { class: "danger", "data-always": true });
  const on = offer("read", "Read on", readOn);
  const percent = element("span", { role: "status" });
  const note = element("div", {});

  const reads = () => !state.sent && question.is_whole && !state.read;

  function draw() {
    if (state.over) return;
    const may = state.read && state.connected && question.is_whole && !state.sent;
    const focused = document.activeElement;
    for (const one of [...allowing, ...ruling]) one.disabled = !may;
    deny.disabled = !state.connected || state.denied;
    on.disabled = !reads();
    // Both are there all the time, one of them unseen: the answers below stay where they are.
    on.parentNode.classList.toggle("away", !reads());
    note.classList.toggle("away", reads());
    replace(percent, `Read it to its end to allow it, with Read on or by scrolling: ${Math.floor(100 * state.seen)} % was on the screen.`);
    replace(note, state.sent ? element("p", { class: "note", role: "status" }, state.sent) : question.is_whole ? null : "It can only be denied.");
    if (focused?.disabled && place.contains(focused)) focusOn(focused === on ? text : title, { preventScroll: true });
    calm?.look();
  }

  /** Shows the next part. Afterwards no answer is where this was pressed: all of them are below what is on the screen. */
  function readOn() {
    hint.style.minHeight = `${hint.offsetHeight}px`;
    reader.readOn();
    scrollBy({ top: hint.getBoundingClientRect().bottom - innerHeight, behavior: "instant" });
    calm.begin();
  }

  const hint = element("div", { class: "hint in-one-place" }, element("div", { class: "row" }, percent, on), note);
  const answers = element(
    "div",
    {},
    element("p", { class: "actions" }, allowing, deny),
    ruling.length > 0 && element("p", { class: "actions" }, element("span", { class: "dim small" }, "From now on, by a rule:"), ruling),
  );
  draw();
  replace(
    place,
    element(
      "div",
      { class: "card" },
      element("div", { class: "spread" }, title, clock),
      facts([
        ["Server", question.server],
        ["Client", question.client],
        ["Rule", question.description ? `${question.rule}: ${question.description}` : String(question.rule)],
      ]),
      question.rule_text && element("details", {}, element("summary", {}, "The rule that asks"), element("pre", {}, question.rule_text)),
      question.words && element("p", { class: "note" }, question.words),
      text,
      question.call.length > 0 && element("details", {}, element("summary", {}, "The call as it is sent"), longText(question.call.join("\n"))),
      hint,
      answers,
    ),
  );
  if (held) focusOn(title); // what had it is gone
  calm = calmed(answers, text, place, place.parentNode);
  calm.begin();
  reader = noteReading(text, context.signal, (seen) => {
    state.seen = seen;
    state.read = seen >= 1;
    draw();
  });

  return {
    isUnread: reads,
    /** Does what its button does for a key that was typed then; says why not where that is not possible yet. */
    press(name, at) {
      const one = place.querySelector(`[data-answer="${name}"]`);
      if (!one || state.over) return;
      if (one.disabled && reads()) toast("Read it to its end first: Read on, or the space bar.");
      else calm.press(one, at);
    },
    /** Says what was answered, in whichever window, and is not confirmed. */
    tell({ sent = "", denied = false }) {
      if (sent === state.sent) return;
      Object.assign(state, { sent, denied });
      draw();
    },
    connect(is) {
      state.connected = is;
      draw();
    },
    goTo() {
      focusOn(title);
      title.scrollIntoView({ block: "start" });
      calm.begin();
    },
    look: () => calm.look(),
    /** Takes the answers away, and says what became of the call. */
    end(text, goOn) {
      if (state.over) return;
      state.over = true;
      if (state.proposing) document.querySelector("dialog[open]")?.close(); // a rule for a call that is over
      const had = hint.contains(document.activeElement) || answers.contains(document.activeElement);
      clock.remove();
      replace(hint, element("p", { class: "note" }, `No longer waits: ${text}.`));
      replace(answers, element("p", { class: "actions" }, button("Go on", () => goOn({ takes: true }))));
      calm.begin(); // a click may be meant for an answer
      if (had) focusOn(title);
      announce(`${question.tool}: ${text}`);
    },
  };
}

/**
 * Tells `onSeen` how much of a box was on the screen, each part after what is before it. It is
 * counted in characters: in another width, what was read has been read.
 */
function noteReading(box, signal, onSeen) {
  const text = charactersOf(box);
  let seen = 0;
  let inView = false;
  let done = false;
  const edges = () => {
    const top = box.getBoundingClientRect().top + box.clientTop;
    return { top, bottom: top + box.clientHeight };
  };
  const look = () => {
    if (done || !inView || document.visibilityState !== "visible") return;
    const { top, bottom } = edges();
    if (seen < text.length && text.place(seen).top < top - 2) return; // something before it was passed over
    const next = text.before(bottom + 2, seen);
    if (next === seen && next < text.length) return;
    seen = next;
    done = seen === text.length;
    if (done) observer.disconnect();
    onSeen(done ? 1 : seen / text.length);
  };
  const observer = new IntersectionObserver(
    ([entry]) => {
      inView = entry.intersectionRatio > 0.9;
      look();
    },
    { threshold: [0, 0.9, 0.95, 1] },
  );
  const sizes = new ResizeObserver(look);
  sizes.observe(box);
  box.addEventListener("scroll", look);
  document.addEventListener("visibilitychange", look, { signal });
  signal.addEventListener("abort", () => (observer.disconnect(), sizes.disconnect()));
  observer.observe(box);
  return {
    /** Goes on where the first part is that was not on the screen, in more room. */
    readOn() {
      if (!box.classList.contains("reading")) box.style.minHeight = `min(${box.offsetHeight}px, 70vh)`;
      box.classList.add("reading");
      if (seen < text.length) box.scrollBy({ top: text.place(seen).top - edges().top - 24, behavior: "instant" });
    },
  };
}

/** A text that is confirmed when it was `read` to its end, as its call is. */
function toBeRead(text, label) {
  const over = new AbortController();
  const box = element("div", { class: "call", tabindex: "0", role: "region", "aria-label": label }, element("pre", {}, text));
  const on = button("Read on", () => {
    reader.readOn();
    hint.scrollIntoView({ block: "end" });
  });
  const percent = element("span", { role: "status" });
  const row = element("div", { class: "row away" }, percent, on);
  const hint = element("div", { class: "hint in-one-place" }, row);
  let reader = null;
  const read = new Promise((resolve) => {
    reader = noteReading(box, over.signal, (seen) => {
      replace(percent, `Read it to its end to write it, with Read on or by scrolling: ${Math.floor(100 * seen)} % was on the screen.`);
      row.classList.toggle("away", seen >= 1);
      if (seen >= 1 && document.activeElement === on) box.focus({ preventScroll: true });
      if (seen >= 1) resolve();
    });
  });
  return { nodes: [box, hint], read, end: () => over.abort() };
}

/** The characters of a box that can be seen, in order, and where each of them is. */
function charactersOf(box) {
  const nodes = [];
  let length = 0;
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.length || node.parentElement.closest(".unseen")) continue;
    nodes.push({ node, start: length });
    length += node.length;
  }
  const range = document.createRange();
  const place = (at) => {
    const { node, start } = nodes[firstWhere(nodes.length, (one) => nodes[one].start > at) - 1];
    range.setStart(node, at - start);
    range.setEnd(node, at - start + 1);
    return range.getBoundingClientRect();
  };
  return {
    length,
    place,
    /** The first character from `from` on that does not end above a height. */
    before: (height, from) => from + firstWhere(length - from, (one) => place(from + one).bottom > height),
  };
}

/** The first of so many numbers for which something holds that holds for all after it, too. */
function firstWhere(count, holds) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function drawChange(change) {
  return element(
    "figure",
    { class: "change" },
    element("figcaption", {}, element("code", {}, change.path), " ", element("span", { class: "dim small" }, change.about)),
    diff(change.lines),
  );
}

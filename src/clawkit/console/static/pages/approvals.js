// Approvals: what waits, one call shown whole, and the answers to it.

import { announce, button, calmed, counted, dialog, diff, element, emptyState, facts, focusOn, longText, problem, replace, toast } from "../console.js";

const NOW = { once: "Allow once", session: "Allow these arguments, this session", tool: "Allow this tool, this session" };
const FOR_GOOD = { folder: "Allow this tool in this folder…", tool: "Allow this tool…", call: "Allow these arguments…" };

export async function show(root, context) {
  const [heading, waiting, past] = [element("div", {}), element("ul", { class: "plain" }), element("div", {})];
  const list = element("section", { class: "asks", "aria-label": "Waiting calls" }, heading, waiting, past);
  const detail = element("section", { class: "ask", "aria-label": "The chosen call" });
  const alone = element("div", {});
  // In one column the list is below the call: however many come, what is read stays where it is.
  root.append(alone, element("div", { class: "approvals" }, detail, list));
  let chosen = context.parameters.get("id") || "";
  let shown = "";
  let card = null; // of the call that is shown
  let asks = [];
  let connected = true;
  const ours = new Set(); // calls that are being answered here
  const items = new Map();

  async function choose(id) {
    chosen = id;
    drawList();
    shown = id;
    card = null;
    if (!id) {
      const left = detail.contains(document.activeElement);
      replace(detail);
      if (left) focusOn(document.querySelector("main h1"));
      return;
    }
    try {
      const question = await context.fetchJson(`/api/approvals/question?id=${encodeURIComponent(id)}`);
      if (chosen !== id) return;
      card = drawQuestion(detail, question, context, { answered, connected });
      tell();
      settle();
    } catch (error) {
      if (error.name !== "AbortError" && chosen === id) replace(detail, problem(error.message));
    }
  }

  async function answered(id, tool, send) {
    ours.add(id);
    let done;
    try {
      done = await send();
    } catch (error) {
      ours.delete(id);
      settle();
      throw error;
    }
    const text = `${tool}: ${done.words}`;
    announce(text);
    if (chosen === id) await goOn();
    toast(text, { kind: done.how === "refused" ? "bad" : "plain" }); // once it is known where the next answers are
  }

  const goOn = () => choose(asks.find((ask) => ask.id !== chosen)?.id || "");

  const tell = () => card?.tell(asks.find((ask) => ask.id === shown) || {});

  /** What somebody looks at stays where it is, though it waits no longer. */
  function settle() {
    if (!card || ours.has(shown) || asks.some((ask) => ask.id === shown)) return;
    card.end(ended.findLast((one) => one.id === shown)?.words || "answered or withdrawn elsewhere", goOn);
  }

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
    sent,
    clock,
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

function drawQuestion(place, question, context, { answered, connected }) {
  const text = element(
    "div",
    { class: "call", tabindex: "0", role: "region", "aria-label": "The whole call" },
    question.changes.map(drawChange),
    element("pre", { class: "plain-text" }, question.lines.join("\n")),
  );
  const title = element("h2", {}, question.tool);
  const hint = element("div", { class: "hint in-one-place" });
  const answers = element("div", {});
  const clock = element("span", { class: "dim small", "data-deadline": String(question.deadline) }, left(question.deadline));
  const state = { read: false, seen: 0, busy: "", over: false, connected, proposing: false, sent: "", denied: false };
  let reader = null;
  let calm = null;

  const answer = async (value, more = {}) => {
    if (state.busy === "deny" || (state.busy && value !== "deny")) return; // a no may follow what is not confirmed
    state.busy = value;
    const body = { id: question.id, digest: question.digest, answer: value, ...more };
    await context.attempt(() => answered(question.id, question.tool, () => context.fetchJson("/api/approvals/answer", { body })));
    if (state.busy === value) state.busy = "";
  };

  const always = (scope) =>
    context.attempt(async () => {
      const proposed = await context.fetchJson(`/api/approvals/rule?id=${encodeURIComponent(question.id)}&scope=${scope}`);
      if (state.over) return;
      state.proposing = true;
      const chosen = await dialog({
        title: "Write this rule?",
        body: [
          element("p", {}, "It goes into ", element("code", {}, proposed.file), `, above rule ${proposed.above}, and allows such calls from now on.`),
          element("pre", { tabindex: "0" }, proposed.rule),
        ],
        actions: [{ label: "Write it and allow", value: true, kind: "primary" }, { label: "Cancel", value: null }],
        calm: true,
      });
      state.proposing = false;
      if (chosen) await answer("always", { scope, rule: proposed.rule });
    });

  function draw() {
    if (state.over) return;
    const ready = state.connected;
    const may = state.read && ready && question.is_whole && !state.sent;
    const reads = !state.sent && question.is_whole && !state.read;
    const given = document.activeElement?.dataset?.answer;
    const reading = document.activeElement?.dataset?.answer === "read";
    // Both are there all the time, one of them unseen: the answers below stay where they are.
    replace(
      hint,
      element(
        "div",
        { class: `row ${reads ? "" : "away"}` },
        element("span", { role: "status" }, `Read it to its end to allow it, with Read on or by scrolling: ${Math.floor(100 * state.seen)} % was on the screen.`),
        button("Read on", readOn, { "data-answer": "read" }),
      ),
      element(
        "div",
        { class: reads ? "away" : "" },
        state.sent ? element("p", { class: "note", role: "status" }, state.sent) : question.is_whole ? question.note : "It can only be denied.",
      ),
    );
    if (reading) (reads ? hint.querySelector("button") : text).focus();
    const one = (name, label, act, kind, enabled, more) => button(label, act, { class: kind, disabled: !enabled, "data-answer": name, ...more });
    replace(
      answers,
      element(
        "p",
        { class: "actions" },
        ["once", ...question.wider].map((value) =>
          one(value, NOW[value], () => answer(value), value === "once" ? "primary" : null, may),
        ),
        one("deny", "Deny", () => answer("deny"), "danger", ready && !state.denied, { "data-always": true }),
      ),
      question.scopes.length > 0 &&
        element(
          "p",
          { class: "actions" },
          element("span", { class: "dim small" }, "From now on, by a rule:"),
          question.scopes.map((scope) => one(`always-${scope}`, FOR_GOOD[scope], () => always(scope), null, may)),
        ),
    );
    if (given) answers.querySelector(`[data-answer="${given}"]`)?.focus();
    calm?.look();
  }

  /** Shows the next part. Afterwards no answer is where this was pressed: all of them are below what is on the screen. */
  function readOn() {
    hint.style.minHeight = `${hint.offsetHeight}px`;
    reader.readOn();
    scrollBy({ top: hint.getBoundingClientRect().bottom - innerHeight, behavior: "instant" });
    calm.begin();
  }

  const held = place.contains(document.activeElement);
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
  draw();
  if (held) focusOn(title); // what had it is gone
  calm = calmed(answers, text, place, place.parentNode);
  calm.begin();
  reader = noteReading(text, context.signal, (seen) => {
    state.seen = seen;
    state.read = seen >= 1;
    draw();
  });

  return {
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
      replace(answers, element("p", { class: "actions" }, button("Go on", goOn)));
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

// Builds the page. Everything that is shown is text: nothing here or in a page ever parses markup.

const MOST_ROWS = 200;

// What nobody sees, or what moves other text about: controls, formats, separators, unassigned
// and lone surrogates; blanks that are no space; selectors that can carry a hidden text.
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Cs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]+/gu;
const JOINED = /[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]/u;
const FLAG_TAGS = /^[\u{e0020}-\u{e007e}]{1,6}\u{e007f}/u;

function escaped(run) {
  return Array.from(run, (letter) => {
    const code = letter.codePointAt(0);
    if (letter === "\n" || letter === "\t") return letter;
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
    if (code < 0x10000) return `\\u${code.toString(16).padStart(4, "0")}`;
    return `\\U${code.toString(16).padStart(8, "0")}`;
  }).join("");
}

function needed(run, before, after) {
  const first = run.codePointAt(0);
  if (first === 0x200c || first === 0x200d) {
    return run.length === 1 && JOINED.test(before) && JOINED.test(after) ? 1 : 0;
  }
  if (first === 0xfe0e || first === 0xfe0f) {
    // "❤️‍🔥": a selector may be followed by the joiner of the same sign, and by nothing else.
    if (!before.trim()) return 0;
    if (run.length === 1) return 1;
    return run.length === 2 && run[1] === "\u200d" && JOINED.test(after) ? 2 : 0;
  }
  if (first === 0xad) return run.length === 1 && /\p{L}/u.test(before) && /\p{L}/u.test(after) ? 1 : 0;
  if (before === "\u{1f3f4}") return (FLAG_TAGS.exec(run) || [""])[0].length;
  return 0;
}

/** A text as it may be shown: what is hidden in it is spelled out. Ends of lines stay. */
export function visible(text) {
  return String(text).replace(HIDDEN, (run, at, whole) => {
    const before = Array.from(whole.slice(Math.max(0, at - 2), at)).pop() || "";
    const after = Array.from(whole.slice(at + run.length, at + run.length + 2))[0] || "";
    const kept = needed(run, before, after);
    return run.slice(0, kept) + escaped(run.slice(kept));
  });
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else if (name === "href" && !/^(#|\/(?!\/))/.test(value)) throw new Error(`no address of ours: ${value}`);
    else node.setAttribute(name, value === true ? "" : visible(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
}

/** An element: attributes by name, `onclick` and the like as functions; strings become inert text. */
export function element(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for a part of a drawing. */
export function svg(name, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/** Puts these children in the place of those that are there. */
export function replace(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/** A text in which `so` marks what is typed: that is shown as code. */
export function prose(text) {
  return String(text ?? "").split(/`([^`\n]+)`/).map((part, at) => (at % 2 ? element("code", {}, part) : part));
}

export function button(label, onclick, attributes) {
  return element("button", { type: "button", onclick, ...attributes }, label);
}

const CALM = 1000; // milliseconds in which a press may be meant for what was there before
const DOUBLE = 600; // milliseconds in which the second press of a double click may come
const MOVED = 2; // pixels
const TOO_SOON = "Nothing was pressed: what is shown there had just changed, or the window or the pointer had just come there. Look at it, and press again.";

/**
 * Keeps presses in a place from counting until nothing has changed there for a while: what it offers, and where on the
 * page that stands. A button with `data-always` waits only for the place to be there, whatever others change about it.
 * A press is of the moment in which it was made, however late the page hears of it. Gives what begins that while, for
 * whoever scrolls, and what presses a button for a key.
 */
export function calmed(place, ...around) {
  let before = null;
  let begun = performance.now();
  let changed = begun;
  let down = null; // the button that the pointer is held on, and since when
  let timer = 0;
  let said = null;
  const looks = () => {
    const { left, top, width, height } = place.getBoundingClientRect();
    const buttons = [...place.querySelectorAll("button")];
    return { words: buttons.map((one) => `${one.textContent} ${one.disabled}`).join("\n"), edges: [left + scrollX, top + scrollY, width, height] };
  };
  const isCalm = (button, at) => at - (button.hasAttribute("data-always") ? begun : changed) >= CALM;
  const mark = () => {
    const now = performance.now();
    for (const one of place.querySelectorAll("button")) one.setAttribute("aria-disabled", String(!isCalm(one, now)));
    clearTimeout(timer);
    const next = [begun, changed].map((since) => since + CALM - now).filter((rest) => rest > 0);
    if (next.length) timer = setTimeout(look, Math.min(...next));
  };
  const look = () => {
    if (!place.isConnected) return sizes.disconnect();
    const now = looks();
    const same = before && now.words === before.words && now.edges.every((edge, at) => Math.abs(edge - before.edges[at]) <= MOVED);
    if (!same) [before, changed] = [now, performance.now()];
    mark();
  };
  const begin = (since = performance.now()) => {
    before = looks();
    [begun, changed] = [Math.max(begun, since), Math.max(changed, since)];
    mark();
  };
  const onDown = (event) => {
    look();
    down = { button: event.target.closest("button"), at: event.timeStamp };
  };
  const refuse = () => {
    said?.remove();
    said = toast(TOO_SOON);
  };
  const onClick = (event) => {
    look();
    const button = event.target.closest("button");
    // A key has no pointer, and assistive technology often makes a click alone: that is a press of one moment.
    const at = event.detail && down?.button === button ? down.at : event.timeStamp;
    down = null;
    if (!button || isCalm(button, at)) return;
    event.stopPropagation();
    event.preventDefault();
    refuse();
  };
  const press = (button, at) => {
    look();
    if (!place.contains(button) || isCalm(button, at)) button.click();
    else refuse();
  };
  // What a dialog, another window or another tab covered is under the pointer that closed it.
  const over = new AbortController();
  const { signal } = over;
  const uncovered = (since) => (place.isConnected ? begin(since) : over.abort());
  const entered = (event) => event.pointerType === "mouse" && uncovered(performance.now() - CALM + DOUBLE);
  document.addEventListener("close", () => uncovered(), { capture: true, signal });
  document.addEventListener("visibilitychange", () => uncovered(), { signal });
  window.addEventListener("focus", () => uncovered(), { signal });
  document.documentElement.addEventListener("pointerenter", entered, { signal });
  place.addEventListener("pointerdown", onDown, { capture: true });
  place.addEventListener("click", onClick, { capture: true });
  const sizes = new ResizeObserver(look);
  for (const one of [place, ...around]) sizes.observe(one);
  return { look, begin, press };
}

/** Gives the focus to what is no control, such as a heading. */
export function focusOn(node, options) {
  node.tabIndex = -1;
  node.focus(options);
}

/** A label with its field; the field gets an id if it has none. */
export function field(label, input, hint) {
  input.id ||= `field-${(field.count = (field.count || 0) + 1)}`;
  const about = hint ? element("span", { class: "hint", id: `${input.id}-hint` }, hint) : null;
  if (about) input.setAttribute("aria-describedby", about.id);
  return element("div", { class: "field" }, element("label", { for: input.id }, label), input, about);
}

/** A name that may be of any length, in short: the whole of it is its title. */
export function clipped(text, most = 40) {
  const letters = Array.from(text);
  return letters.length <= most ? text : element("span", { title: text.slice(0, 2000) }, `${letters.slice(0, most - 1).join("")}…`);
}

/** A text of any length: its beginning, and a button for the rest of it. */
export function longText(text, most = 2000) {
  const shown = visible(text);
  if (shown.length <= most) return element("pre", { tabindex: "0" }, shown);
  const pre = element("pre", { tabindex: "0" }, `${shown.slice(0, most)}…`);
  const more = button(`Show ${counted(shown.length - most, "more character")}`, () => {
    replace(pre, shown);
    more.remove();
    pre.focus();
  });
  return element("div", {}, pre, more);
}

const LINES = { "+": ["added", "added: "], "-": ["removed", "removed: "], " ": ["same", ""], "@": ["where", ""] };

/** Parts of a text that are in turn what it is and what is spelled out in it. */
function withSpelled(parts) {
  const spoken = (text) => element("span", { class: "unseen" }, text);
  return parts.map((part, at) => (at % 2 ? element("span", { class: "spelled" }, spoken(" spelled out: "), part, spoken(" ")) : part));
}

/** The lines of a diff, each with its kind. */
export function diff(lines) {
  return element(
    "div",
    { class: "diff" },
    lines.map(({ kind, parts }) => {
      const [name, spoken] = LINES[kind];
      return element("div", { class: name }, spoken && element("span", { class: "unseen" }, spoken), element("span", { class: "sign", "aria-hidden": "true" }, kind === "@" ? "" : kind), element("span", { class: "text" }, withSpelled(parts)));
    }),
  );
}

/** A mark such as a decision: `kind` chooses its colour. */
export function badge(text, kind = "plain") {
  return element("span", { class: `badge ${kind}` }, text);
}

/** Name and value pairs. */
export function facts(pairs) {
  return element(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
  );
}

export function emptyState(title, text) {
  return element("div", { class: "empty" }, element("p", { class: "strong" }, title), text && element("p", { class: "dim" }, prose(text)));
}

/**
 * A table of at most 200 rows. A column has `title`, or `spoken` where none is shown, `cell(row)` and perhaps `class`;
 * with `onOpen`, the first cell of each row is a button.
 */
export function table({ caption, columns, rows, empty = "Nothing here.", onOpen, rowClass }) {
  // On a phone a row is a card, and what is no table to look at says by its roles that it is one.
  const head = columns.map((one) => element("th", { scope: "col", role: "columnheader", class: one.class }, one.title || element("span", { class: "unseen" }, one.spoken)));
  const line = (row) =>
    element(
      "tr",
      { role: "row", class: rowClass && rowClass(row) },
      columns.map((one, at) => {
        const cell = one.cell(row);
        const opened = at === 0 && onOpen;
        return element("td", { role: "cell", class: one.class, "data-title": one.title }, opened ? button(cell, () => onOpen(row), { class: "link" }) : cell);
      }),
    );
  const body = rows.slice(0, MOST_ROWS).map(line);
  if (!body.length) body.push(element("tr", { role: "row" }, element("td", { role: "cell", colspan: columns.length, class: "dim" }, empty)));
  return element(
    "div",
    { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
    element(
      "table",
      { role: "table" },
      element("caption", { class: "unseen" }, caption),
      element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, head)),
      element("tbody", { role: "rowgroup" }, body),
    ),
  );
}

/** A table in pages: `load({offset, limit})` gives `{rows, total}`. */
export function pagedTable({ load, size = 50, ...options }) {
  const place = element("div", { class: "paged" });
  const limit = Math.min(size, MOST_ROWS);
  let offset = 0;
  async function reload(to = offset) {
    const { rows, total } = await load({ offset: to, limit });
    offset = to;
    const last = Math.min(offset + rows.length, total);
    replace(
      place,
      table({ ...options, rows }),
      pager({
        text: total ? [offset + 1, " to ", last, " of ", total].map((one) => one.toLocaleString("en")).join("") : "",
        back: offset > 0 && (() => reload(Math.max(0, offset - limit))),
        on: last < total && (() => reload(offset + limit)),
      }),
    );
  }
  return { node: place, reload };
}

export function pager({ text, back, on, backLabel = "Back", onLabel = "More" }) {
  if (!back && !on) return element("p", { class: "pager dim" }, text);
  return element(
    "p",
    { class: "pager" },
    button(backLabel, back || null, { disabled: !back }),
    element("span", { class: "dim", role: "status" }, text),
    button(onLabel, on || null, { disabled: !on }),
  );
}

/** Runs at once, and then at most every so many milliseconds. */
export function throttled(act, every, signal) {
  let timer = null;
  let again = false;
  const run = () => {
    again = false;
    if (signal.aborted) return;
    act();
    timer = setTimeout(() => ((timer = null), again && run()), every);
  };
  return () => (timer ? (again = true) : run());
}

/**
 * Draws a place anew; what has the focus there has it afterwards, too: the control with the same
 * `data-place`, or with the same words. If there is none any more, the place itself has it.
 */
export async function redraw(place, draw) {
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  await draw();
  if (!focused || focused.isConnected || document.activeElement !== document.body) return;
  const next = sameIn(place, focused);
  if (next) next.focus({ preventScroll: true });
  else focusOn(place, { preventScroll: true });
}

/** The control in a place that another one, perhaps drawn anew since, is or was. */
function sameIn(place, control) {
  if (place.contains(control)) return control;
  const { tagName, textContent, ariaLabel, dataset } = control;
  const same = (one) => (dataset.place ? one.dataset.place === dataset.place : one.textContent === textContent && one.ariaLabel === ariaLabel);
  return [...place.querySelectorAll(tagName)].find(same);
}

/** Says something to those who do not see the page. */
export function announce(text) {
  const region = document.getElementById("announcements");
  replace(region);
  setTimeout(() => replace(region, text), 50);
}

/** How many controls of the page lie under a box. */
function covered(box) {
  const over = box.getBoundingClientRect();
  const under = ({ left, right, top, bottom }) => left < over.right && right > over.left && top < over.bottom && bottom > over.top;
  return [...document.querySelectorAll("main :is(a, button, input, select, summary, textarea)")].filter((one) => under(one.getBoundingClientRect())).length;
}

/** A short message; with `undo` it can be taken back for ten seconds. */
export function toast(text, { undo, kind = "plain", seconds = undo ? 10 : 5 } = {}) {
  const where = view();
  const moved = () => view() !== where && end();
  const settled = new MutationObserver(() => node.isConnected ? settle(node.parentElement) : finish());
  const finish = () => {
    clearTimeout(timer);
    settled.disconnect();
    window.removeEventListener("hashchange", moved);
  };
  const end = () => {
    const focused = node.contains(document.activeElement);
    finish();
    node.remove();
    if (focused) focusOn(document.getElementById("content"), { preventScroll: true });
  };
  let timer = setTimeout(end, seconds * 1000);
  const hold = () => clearTimeout(timer);
  const resume = () => (timer = setTimeout(end, seconds * 1000));
  const undoing = async () => {
    end();
    try {
      await undo();
    } catch (error) {
      if (error.name !== "AbortError") toast(error.message, { kind: "bad" });
    }
  };
  const node = element(
    "div",
    { class: `toast ${kind} ${undo ? "undoable" : ""}`, role: kind === "bad" ? "alert" : "status", onmouseenter: hold, onfocusin: hold, onmouseleave: resume, onfocusout: resume },
    element("span", {}, prose(text)),
    undo && button("Undo", undoing),
    button("×", end, { class: "quiet", "aria-label": "Close this message" }),
  );
  const place = document.getElementById("toasts");
  place.append(node);
  settle(place);
  settled.observe(document.getElementById("content"), { childList: true, subtree: true });
  window.addEventListener("hashchange", moved);
  return node;
}

/** Puts the messages where they cover fewer controls, at the bottom or at the top. */
function settle(place) {
  place.classList.remove("above");
  const below = covered(place);
  place.classList.toggle("above", below > 0);
  if (below > 0 && covered(place) >= below) place.classList.remove("above");
}

/** What is looked at: the page, and the view or the session in it. A message belongs to one. */
function view() {
  const [page, query] = location.hash.split("?");
  const parameters = new URLSearchParams(query || "");
  return [page, parameters.get("view"), parameters.get("key")].join(" ");
}

/**
 * Asks in a dialog; gives the value of the action that was chosen, or null. An action with `act`
 * gives what that gives; if it fails, the dialog stays as it is and says why. With `calm`, no press counts that was meant
 * for what is below it. The first action can be chosen when `until` is so. Where `unsaved()`, the first Escape only says so.
 */
export function dialog({
  title,
  body,
  actions = [{ label: "Close", value: null }],
  keep = false,
  calm = false,
  until = null,
  unsaved = () => false,
}) {
  const heading = `dialog-${(dialog.count = (dialog.count || 0) + 1)}`;
  const opener = document.activeElement;
  const goBack = () => {
    // The page may have been drawn anew behind the dialog, and with it the button that opened it.
    if (document.activeElement === document.body) sameIn(document.getElementById("content"), opener)?.focus({ preventScroll: true });
  };
  return new Promise((resolve) => {
    let chosen = null;
    const failed = element("div", { role: "alert" });
    const end = (value) => ((chosen = value), node.close());
    const attempt = async (act) => {
      const held = document.activeElement;
      busy(true);
      replace(failed);
      try {
        end(await act());
      } catch (error) {
        replace(failed, element("p", { class: "problem" }, error.message));
        failed.scrollIntoView({ block: "nearest" });
      }
      busy(false);
      held?.focus();
    };
    let isBusy = false;
    let isHeld = Boolean(until);
    const busy = (is) => {
      isBusy = is;
      buttons.forEach((one, at) => (one.disabled = is || (isHeld && at === 0)));
    };
    const buttons = actions.map(({ label, value, act, kind }) => button(label, () => (act ? attempt(act) : end(value)), { class: kind }));
    busy(false);
    until?.then(() => ((isHeld = false), busy(isBusy)));
    const offered = element("p", { class: "actions" }, buttons);
    const isTyped = (field) => field.matches("input:not([type=checkbox], [type=radio])");
    const onEnter = (event) => {
      if (event.key !== "Enter" || event.isComposing || !isTyped(event.target)) return;
      event.preventDefault();
      buttons[0].click();
    };
    const node = element(
      "dialog",
      { "aria-labelledby": heading, onkeydown: onEnter },
      element("h2", { id: heading }, title),
      element("div", { class: "dialog-body" }, body),
      failed,
      offered,
    );
    // What is shown once does not go with a key that was meant for something else; nor what comes of an act.
    let warned = false;
    node.addEventListener("cancel", (event) => {
      const drops = !warned && unsaved();
      if (drops) replace(failed, element("p", { class: "note" }, "What you typed is not saved: Escape again drops it."));
      if (keep || isBusy || drops) event.preventDefault();
      warned ||= drops;
    });
    node.addEventListener("close", () => (node.remove(), goBack(), resolve(chosen)));
    document.body.append(node);
    node.showModal();
    if (calm) calmed(offered);
    // What a second Enter would do for good is not what has the focus.
    if (actions[0].kind === "danger" && !node.querySelector("input, select, textarea")) buttons.at(-1).focus();
  });
}

export async function confirm({ title, body, action = "Yes", kind = "primary" }) {
  return dialog({ title, body, actions: [{ label: action, value: true, kind }, { label: "Cancel", value: null }] });
}

const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** A moment (ISO text or seconds) as an element: how long ago, the whole of it as its title. */
export function moment(when) {
  const date = new Date(typeof when === "number" ? when * 1000 : when);
  if (isNaN(date)) return element("span", {}, String(when));
  const exact = date.toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
  return element("time", { datetime: date.toISOString(), title: exact }, shortTime(date));
}

function shortTime(date) {
  const today = new Date();
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const year = today.getFullYear() === date.getFullYear() ? undefined : "numeric";
  return today.toDateString() === date.toDateString() ? time : `${date.toLocaleDateString([], { month: "short", day: "numeric", year })} ${time}`;
}

export function ago(when) {
  const seconds = (Date.now() - new Date(typeof when === "number" ? when * 1000 : when)) / 1000;
  const [unit, size] = UNITS.find(([, one]) => Math.abs(seconds) >= one) || UNITS[3];
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.round(seconds / size), unit);
}

export function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "";
  if (milliseconds < 1000) return `${Number(milliseconds.toPrecision(3))} ms`;
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

export function counted(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

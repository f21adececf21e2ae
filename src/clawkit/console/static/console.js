// The shell: navigation, the page that is shown, and what the pages share.

import { announce, confirm, element, prose, redraw, replace, throttled, toast } from "./dom.js";
import { begin, connect, fetchJson, watch } from "./net.js";
// All of it is loaded at the start: later, another program may have the port of a console that ended.
import * as activity from "./pages/activity.js";
import * as approvals from "./pages/approvals.js";
import * as connecting from "./pages/connect.js";
import * as health from "./pages/health.js";
import * as memory from "./pages/memory.js";
import * as policy from "./pages/policy.js";
import * as sessions from "./pages/sessions.js";

export * from "./dom.js";
export { ApiError, fetchFile, fetchJson, watch } from "./net.js";

/** The pages in their order: the name is that of the address. */
const PAGES = [
  ["approvals", "Approvals", approvals],
  ["activity", "Activity", activity],
  ["policy", "Policy", policy],
  ["memory", "Memory", memory],
  ["sessions", "Sessions", sessions],
  ["connect", "Connect", connecting],
  ["health", "Health", health],
];
const main = document.getElementById("content");
let leaving = new AbortController();

function drawNavigation(current) {
  replace(
    document.getElementById("pages"),
    PAGES.map(([name, title]) =>
      element(
        "li",
        {},
        element(
          "a",
          { href: `#/${name}`, id: `to-${name}`, "aria-current": name === current ? "page" : null },
          element("span", {}, title),
          element("span", { class: "count", id: `count-${name}` }),
        ),
      ),
    ),
  );
  drawCounts();
  // On a phone the navigation is wider than the screen.
  document.getElementById(`to-${current}`)?.scrollIntoView({ block: "nearest", inline: "center" });
}

const counts = new Map();

function drawCounts() {
  for (const [name, number] of counts) {
    const place = document.getElementById(`count-${name}`);
    if (place) replace(place, number ? [element("span", { class: "unseen" }, ", waiting: "), String(number)] : null);
  }
  const waiting = counts.get("approvals") || 0;
  const title = PAGES.find(([name]) => name === address().name)?.[1] || "";
  document.title = `${waiting ? `(${waiting}) ` : ""}${title} · Clawkit console`;
}

/** The page and the parameters that the address names: `#/activity?server=files`. */
function address() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const name = PAGES.some(([one]) => one === path) ? path : PAGES[0][0];
  return { name, parameters: new URLSearchParams(query || "") };
}

/** What a page's `show(root, context)` gets besides its place. */
function contextFor(name, parameters, signal) {
  const context = {
    name,
    parameters,
    signal,
    /** What only reads ends with the page; what changes something is done to its end. */
    fetchJson: (path, options = {}) => fetchJson(path, options.body === undefined ? { signal, ...options } : options),
    announce,
    toast,
    confirm,
    /** Hears of a topic until the page is left. */
    watch(topic, listener) {
      const end = watch(topic, listener);
      signal.addEventListener("abort", end);
    },
    /** Runs `act` whenever a topic is another one than what is shown, which `known` tells. */
    follow(topic, known, act, every = 1000) {
      const run = throttled(() => context.attempt(act), every, signal);
      context.watch(topic, (value) => value !== known() && run());
    },
    onLeave: (act) => signal.addEventListener("abort", act),
    /** Goes to a page; with parameters, to a place in it. */
    go(page, given) {
      const query = new URLSearchParams(given || {}).toString();
      location.hash = `#/${page}${query ? `?${query}` : ""}`;
    },
    /** Keeps parameters in the address without showing the page anew. */
    remember(given) {
      const query = new URLSearchParams(given).toString();
      history.replaceState(null, "", `#/${name}${query ? `?${query}` : ""}`);
    },
    /** Runs what a button does, and tells what went wrong. */
    async attempt(act) {
      try {
        return await act();
      } catch (error) {
        if (error.name !== "AbortError") toast(error.message, { kind: "bad", seconds: 12 });
        return undefined;
      }
    },
    /** Shows the page anew. */
    reload: () => show().then(() => document.activeElement === document.body && focusPage()),
  };
  return context;
}

/** Gives the focus to the page, unless the page has given it to something in it. */
function focusPage() {
  if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
}

/** Shows what the address names; in another view of the same page, the control that led there keeps the focus. */
function arrive() {
  return main.querySelector(`.page-${address().name}`) ? redraw(main, show) : show();
}

async function show() {
  leaving.abort();
  leaving = new AbortController();
  for (const open of document.querySelectorAll("dialog[open]")) open.close();
  const { name, parameters } = address();
  // What can be undone is offered where it was done; afterwards that page has it.
  if (!main.querySelector(`.page-${name}`)) for (const one of document.querySelectorAll(".toast.undoable")) one.remove();
  const [, title, page] = PAGES.find(([one]) => one === name);
  drawNavigation(name);
  const root = element("div", { class: `page page-${name}` });
  const { signal } = leaving;
  try {
    replace(main, element("h1", {}, title), root);
    await page.show(root, contextFor(name, parameters, signal));
    if (!signal.aborted) {
      root.dataset.ready = "true";
      announce(`${title} is shown`);
    }
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    if (error.status === 401) locked(error.message);
    else replace(main, element("h1", {}, title), problem(error.message));
  }
}

export function problem(text) {
  return element("p", { class: "problem", role: "alert" }, prose(text));
}

function locked(text) {
  leaving.abort();
  replace(main, element("h1", {}, "This page needs a link"), problem(text));
}

function drawConnection({ connected, over }) {
  const place = document.getElementById("connection");
  const text = connected ? "Live" : over || "Not connected: is `claw console` still running?";
  if (place.dataset.text !== text) replace(place, element("span", {}, prose(text)));
  place.dataset.text = text;
  place.classList.toggle("lost", !connected);
}

async function start() {
  try {
    await begin();
  } catch (error) {
    locked(error.message);
    return;
  }
  window.addEventListener("hashchange", () => {
    // A link that is opened in a tab that has the console already begins a new session there.
    if (location.hash.startsWith("#open=")) location.reload();
    else if (location.hash.startsWith("#/") || !location.hash) arrive().then(focusPage);
  });
  watch("connection", drawConnection);
  connect();
  watch("approvals", ({ asks }) => {
    const before = counts.get("approvals") || 0;
    counts.set("approvals", asks?.length || 0);
    if ((asks?.length || 0) > before) announce("A call waits for your answer");
    drawCounts();
  });
  await show();
}

start();

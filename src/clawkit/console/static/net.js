// Talks with the console's server: JSON requests, and the one stream of what changes.

// Kept for this port only, unlike the cookie; a tab that is left open gets that of a new link.
const TOKEN = "claw-token";
const SECRET = "claw-secret"; // what only this console and its pages know
const AGAIN = 1000; // milliseconds until the stream is asked for again
const SILENT = 8000; // milliseconds after which a console that says nothing is taken for stopped, and a tab for hung
const PULSE = 2000; // milliseconds between the signs that a tab is there which waits for the console
const REFUSALS = 5; // so often in a row nobody was at the port: a stopped console is there, one that ended is not
const UNREACHED = "The console does not answer: is `claw console` still running?";
const ENDED = "This console has ended; run `claw console` again";
const listeners = new Map();
const latest = new Map();
let secret = "";
let ended = false;
let doubtful = false; // whether another program may have the port since the stream was lost

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** The response of the console to a request that brings this browser's token. */
async function fetched(path, { body, signal, accept = "*/*" } = {}) {
  if (!ended && doubtful && (await whoAnswers()) === "another") end();
  if (ended) throw new ApiError(ENDED, 0);
  if (doubtful) throw new ApiError(UNREACHED, 0);
  const headers = { accept, "x-claw-token": localStorage.getItem(TOKEN) || "" };
  const options = { signal, headers, credentials: "same-origin" };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    headers["content-type"] = "application/json";
  }
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(UNREACHED, 0);
  }
}

/** A file from an address below /api, as a blob. */
export async function fetchFile(path, options) {
  const response = await fetched(path, options);
  if (!response.ok) throw new ApiError(`The console answered with ${response.status}.`, response.status);
  return response.blob();
}

/** JSON from an address below /api; with `body`, posted. Throws an ApiError that says why not. */
export async function fetchJson(path, { body, signal } = {}) {
  const response = await fetched(path, { body, signal, accept: "application/json" });
  const value = await response.json().catch(() => ({ error: `The console answered with ${response.status}.` }));
  if (!response.ok) throw new ApiError(value.error || `The console answered with ${response.status}.`, response.status);
  return value;
}

/** Begins a session with the link in the address, or goes on with the one that this browser has. */
export async function begin() {
  const link = /^#open=([\w-]+)$/.exec(location.hash);
  if (link) {
    // A link is used once: nobody finds it in the history afterwards.
    history.replaceState(null, "", location.pathname);
    try {
      const given = await fetchJson("/api/open", { body: { link: link[1] } });
      localStorage.setItem(TOKEN, given.token);
      localStorage.setItem(SECRET, given.secret);
    } catch (error) {
      if (!(await fetchJson("/api/session").catch(() => null))) throw error;
    }
  } else {
    await fetchJson("/api/session");
  }
  secret = localStorage.getItem(SECRET) || "";
}

/** Calls `listener` with a topic's value, now if it is known and whenever it changes. */
export function watch(topic, listener) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  listeners.get(topic).add(listener);
  if (latest.has(topic)) listener(latest.get(topic));
  return () => listeners.get(topic).delete(listener);
}

function heard({ topic, value }) {
  latest.set(topic, value);
  for (const listener of listeners.get(topic) || []) listener(value);
}

/**
 * Who is at the console's port: "ours", which proves that it has the secret; "another"; "nobody"; or somebody "silent",
 * such as a console that is stopped. Whoever it is gets neither the token nor the cookie.
 */
async function whoAnswers() {
  doubtful = true;
  const text = bytes(crypto.getRandomValues(new Uint8Array(32)));
  const signal = AbortSignal.timeout(SILENT);
  try {
    const response = await fetch(`/api/proof?text=${text}`, { signal, credentials: "omit", redirect: "error", cache: "no-store" });
    const given = await response.json().catch((error) => (signal.aborted ? Promise.reject(error) : {}));
    doubtful = given?.proof !== (await proof(text));
    return doubtful ? "another" : "ours";
  } catch {
    return signal.aborted ? "silent" : "nobody";
  }
}

const bytes = (array) => Array.from(array, (one) => one.toString(16).padStart(2, "0")).join("");

async function proof(text) {
  const raw = Uint8Array.from(secret.match(/../g) || [], (pair) => parseInt(pair, 16));
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return bytes(new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text))));
}

/** Nothing is asked any more: whoever has the port now is not the console that this page is of. */
function end() {
  ended = true;
  if (localStorage.getItem(SECRET) !== secret) return; // a link of the next one was opened
  localStorage.removeItem(TOKEN);
  localStorage.removeItem(SECRET);
}

/**
 * Opens the stream, in one tab for all: a browser has few connections. The topic "connection" is
 * whether it stands; `ended`, whether it never will again; and `over`, what to do where it does not.
 *
 * A tab that leads can hang, as the others cannot see: one that hears nothing from it takes its place. What it says when
 * it goes on is old, so each lead has a `term`, and nobody listens to an earlier one.
 */
export function connect() {
  const name = `claw-console ${secret.slice(0, 16)}`; // at a port of its own choice, the next console has the same origin
  const others = new BroadcastChannel(name);
  let term = 0; // the latest that was heard of
  let leading = null; // ends the lead of this tab, if it has it
  let waiting = null; // ends its wait for the lead
  let timer = 0;

  const listen = () => {
    clearTimeout(timer);
    if (!ended && !leading) timer = setTimeout(takeOver, SILENT);
  };
  watch("connection", (now) => {
    doubtful = !now.connected;
    if (now.ended) end();
  });
  others.onmessage = ({ data }) => {
    if (data.hello) {
      if (leading) for (const [topic, value] of latest) others.postMessage({ term, topic, value });
      return;
    }
    if (data.term < term) return;
    if (data.term > term) leading?.abort();
    term = data.term;
    if (data.topic) heard(data);
    listen();
  };

  const lead = async () => {
    const own = new AbortController();
    const { signal } = own;
    const mine = Math.max(Date.now(), term + 1);
    [leading, term] = [own, mine];
    clearTimeout(timer);
    const tell = (message) => {
      if (signal.aborted) return;
      heard(message);
      others.postMessage({ term: mine, ...message });
    };
    const state = (connected, over = "") => tell({ topic: "connection", value: { connected, ended, over } });
    const pulse = () => others.postMessage({ term: mine });
    while (!ended && !signal.aborted) {
      const over = await read({ tell, state, pulse, signal }).catch(() => "");
      if (!ended) state(false, over);
      const beating = setInterval(pulse, PULSE);
      await standsAgain(signal);
      clearInterval(beating);
    }
    if (ended) state(false, ENDED);
  };
  const follow = async (options) => {
    await navigator.locks.request(name, options, lead).catch(() => null); // it fails where another tab takes the lead
    if (ended || options.signal?.aborted) return;
    leading?.abort();
    leading = null;
    others.postMessage({ hello: true });
    wait();
  };
  const wait = () => {
    listen();
    waiting = new AbortController();
    follow({ signal: waiting.signal });
  };
  const takeOver = () => {
    waiting.abort();
    heard({ topic: "connection", value: { connected: false, ended, over: "" } }); // nothing is known until it is heard from
    follow({ steal: true });
  };
  others.postMessage({ hello: true });
  wait();
}

/** Waits until our console answers again, or has ended, or another tab leads. */
async function standsAgain(signal) {
  let refusals = 0;
  while (!ended && !signal.aborted) {
    await new Promise((done) => setTimeout(done, AGAIN));
    const who = await whoAnswers();
    if (who === "ours") return;
    refusals = who === "nobody" ? refusals + 1 : 0;
    if (who === "another" || refusals === REFUSALS) end();
  }
}

/** Reads the stream to its end; gives what to do where the session is over. */
async function read({ tell, state, pulse, signal }) {
  const response = await fetched("/api/watch", { accept: "text/event-stream", signal });
  if (response.status === 401) return (await response.json()).error;
  if (!response.ok) return "";
  state(true);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let timer = 0;
    const silence = new Promise((resolve) => (timer = setTimeout(() => resolve({ done: true, silent: true }), SILENT)));
    const { done, value, silent } = await Promise.race([reader.read(), silence]);
    clearTimeout(timer);
    if (silent) reader.cancel().catch(() => null);
    if (done) return "";
    pulse();
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      if (!event.startsWith("data: ")) continue;
      const message = JSON.parse(event.slice(6));
      if (message.topic === "ends") return end(), "";
      tell(message);
    }
  }
}

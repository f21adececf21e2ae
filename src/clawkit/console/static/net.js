// Talks with the console's server: JSON requests, and the one stream of what changes.

// Kept for this port only, unlike the cookie; a tab that is left open gets that of a new link.
const TOKEN = "claw-token";
const AGAIN = 1000; // milliseconds until the stream is asked for again
const SILENT = 8000; // milliseconds after which a console that says nothing is taken for stopped
const listeners = new Map();
const latest = new Map();

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** The response of the console to a request that brings this browser's token. */
async function fetched(path, { body, signal, accept = "*/*" } = {}) {
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
    throw new ApiError("The console does not answer: is `claw console` still running?", 0);
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
      const { token } = await fetchJson("/api/open", { body: { link: link[1] } });
      localStorage.setItem(TOKEN, token);
    } catch (error) {
      if (!(await fetchJson("/api/session").catch(() => null))) throw error;
    }
    return;
  }
  await fetchJson("/api/session");
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
 * Opens the stream, in one tab for all: a browser has few connections. The topic "connection" is
 * whether it stands, and `over`, what to do where the session is over.
 */
export function connect() {
  const others = new BroadcastChannel("claw-console");
  let leads = false; // false where another tab has the stream
  const tell = (message) => {
    leads = true;
    heard(message);
    others.postMessage(message);
  };
  const state = (connected, over = "") => tell({ topic: "connection", value: { connected, over } });
  others.onmessage = ({ data }) => {
    if (!data.hello) heard(data);
    else if (leads) for (const [topic, value] of latest) others.postMessage({ topic, value });
  };
  others.postMessage({ hello: true });
  const lead = async () => {
    for (;;) {
      state(false, await read(tell, state).catch(() => ""));
      await new Promise((done) => setTimeout(done, AGAIN));
    }
  };
  navigator.locks.request("claw-console", lead);
}

/** Reads the stream to its end; gives what to do where the session is over. */
async function read(tell, state) {
  const response = await fetched("/api/watch", { accept: "text/event-stream" });
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
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) if (event.startsWith("data: ")) tell(JSON.parse(event.slice(6)));
  }
}

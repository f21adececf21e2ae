// Talks with the console's server: JSON requests, and the one stream of what changes.

let token = "";
const listeners = new Map();
const latest = new Map();

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** JSON from an address below /api; with `body`, posted. Throws an ApiError that says why not. */
export async function fetchJson(path, { body, signal } = {}) {
  const options = { signal, headers: { accept: "application/json" }, credentials: "same-origin" };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    Object.assign(options.headers, { "content-type": "application/json", "x-claw-token": token });
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The console does not answer: is `claw console` still running?", 0);
  }
  const value = await response.json().catch(() => ({ error: `The console answered with ${response.status}.` }));
  if (!response.ok) throw new ApiError(value.error || `The console answered with ${response.status}.`, response.status);
  return value;
}

/** Begins a session with the link in the address, or goes on with the one that the cookie has. */
export async function begin() {
  const link = /^#open=([\w-]+)$/.exec(location.hash);
  if (link) {
    // A link is used once: nobody finds it in the history afterwards.
    history.replaceState(null, "", location.pathname);
    try {
      ({ token } = await fetchJson("/api/open", { body: { link: link[1] } }));
      return;
    } catch (error) {
      const open = await fetchJson("/api/session").catch(() => null);
      if (!open) throw error;
      ({ token } = open);
      return;
    }
  }
  ({ token } = await fetchJson("/api/session"));
}

/** Calls `listener` with a topic's value, now if it is known and whenever it changes. */
export function watch(topic, listener) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  listeners.get(topic).add(listener);
  if (latest.has(topic)) listener(latest.get(topic));
  return () => listeners.get(topic).delete(listener);
}

function heard(event) {
  const { topic, value } = JSON.parse(event.data);
  latest.set(topic, value);
  for (const listener of listeners.get(topic) || []) listener(value);
}

/** Opens the stream; it reconnects by itself, and `onState` hears whether it is connected. */
export function connect(onState) {
  const source = new EventSource("/api/watch");
  source.onmessage = heard;
  source.onopen = () => onState(true);
  source.onerror = () => onState(false);
}

// The page Connect: which client has what of ours, a button for each, and what others paste.

import { ApiError, ago, badge, button, confirm, dialog, element, emptyState, facts, field, problem, prose, redraw, replace, table, toast } from "../console.js";
import { showSecret } from "./memory.js";

const OURS = [
  ["assistant", "Assistant"],
  ["memory", "Memory"],
];

export async function show(root, context) {
  const parts = [
    ["Clients on this machine", drawClients],
    ["What to paste", drawPastes],
    ["Others and your team", drawTeam],
  ].map(([title, draw]) => [element("section", { "aria-label": title }), title, draw]);
  root.append(...parts.map(([place]) => place));
  await Promise.all(parts.map((part) => drawn(...part, context)));
}

/** A part of the page; one that fails says so in its place and leaves the others alone. */
async function drawn(place, title, draw, context) {
  try {
    await draw(place, context);
  } catch (error) {
    if (context.signal.aborted || !(error instanceof ApiError)) throw error;
    replace(place, element("h2", {}, title), problem(error.message));
  }
}

async function drawClients(place, context) {
  const { clients, missing, problems, home } = await context.fetchJson("/api/connect/clients");
  const reload = () => redraw(place, () => drawClients(place, context));
  const removeAll = () => context.attempt(async () => {
    const body = element("p", {}, "The assistant, memories and tools go out of every client's file, and guarded servers go on without the guard. What you told the assistant and what is remembered stays.");
    if (!(await confirm({ title: "Take everything of ours out of every client?", body, action: "Take it out", kind: "danger" }))) return;
    const { removals, problems: failed } = await context.fetchJson("/api/connect/remove-all", { body: {} });
    toast(failed.length ? failed.join("; ") : `Taken out: ${removals.length}. Restart the clients for this to count.`, { kind: failed.length ? "bad" : "plain", seconds: 10 });
    await reload();
  });
  const any = clients.some((one) => OURS.some(([what]) => one[what].state === "installed") || one.servers.some(({ places }) => places.some(({ state }) => state.startsWith("wrapped"))));
  replace(
    place,
    element("div", { class: "spread" }, element("h2", {}, "Clients on this machine"), any && button("Take everything out", removeAll)),
    problems.map((text) => problem(text)),
    clients.length ? element("div", { class: "clients" }, clients.map((one) => clientCard(one, home, context, reload))) : emptyState("No MCP client that we know was found here", "Start one once, and load this page again."),
    missing.length ? element("p", { class: "dim small" }, `Not found here: ${missing.join(", ")}.`) : null,
  );
}

function clientCard(client, home, context, reload) {
  const short = (path) => (path.startsWith(home) ? `~${path.slice(home.length)}` : path);
  const act = (change, what, done) => () => context.attempt(async () => {
    if (change === "unguard" && !(await confirmed(client, what, short))) return;
    const outcome = await context.fetchJson("/api/connect/change", { body: { client: client.id, change, what } });
    if (outcome.guarded?.length) {
      await reload();
      await tellGuarded(client, outcome, home);
      return;
    }
    const note = outcome.note || outcome.changes?.map((one) => one.note).filter(Boolean).join("; ");
    const said = note && `${note[0].toUpperCase()}${note.slice(1)}${/[.!?]$/.test(note) ? "" : "."}`;
    toast([done, `Restart ${client.title} for this to count.`, said].filter(Boolean).join(" "), { seconds: 9 });
    await reload();
  });
  const unread = client.assistant.state === "cannot be read" && client.assistant.note;
  const open = client.servers.filter(({ places }) => places.some(isOpen));
  return element(
    "article",
    { class: "card", "aria-label": client.title },
    element("h3", {}, client.title),
    element("p", { class: "dim small mono" }, short(client.file)),
    unread ? problem(unread) : null,
    element(
      "ul",
      { class: "has" },
      unread ? null : OURS.map(([what, title]) => ourLine(client, what, title, act)),
      client.servers.map((one) => serverLine(client, one, act, short)),
    ),
    open.length > 1 ? element("p", { class: "actions" }, button(`Guard all ${open.length}`, act("guard", "", "They go through the guard."))) : null,
    open.length && !client.shows_forms ? element("p", { class: "dim small" }, "It shows no questions of servers: keep Approvals open here, or whatever asks is denied.") : null,
  );
}

const isOpen = ({ state, transport }) => state === "not wrapped" && Boolean(transport);
const isGuarded = ({ state }) => state === "wrapped";

function confirmed(client, server, short) {
  const { places } = client.servers.find((one) => one.server === server);
  const files = [...new Set(places.filter(isGuarded).map(({ file }) => short(file)))];
  const body = [
    element("p", {}, `${client.title} starts “${server}” as before: its calls are neither decided by your policy nor logged.`),
    files.length > 1 && element("p", {}, "In all of these files: ", files.map((file, at) => [at ? ", " : "", element("code", {}, file)]), "."),
  ];
  return confirm({ title: "Take the guard away?", body, action: "Take it away", kind: "danger" });
}

/** What `claw wrap` says: what passes unasked from now on, and what does not. */
async function tellGuarded(client, { guarded, policy, base, denials, changes }, home) {
  const short = (text) => text.replaceAll(home, "~");
  const one = ({ server, profile, known_by: by, passes, asks, variables }) => [
    element("h3", {}, server, " ", profile ? badge(`profile ${profile}, by its ${by}`, "good") : badge("no profile")),
    facts([
      ["Unasked", short(passes)],
      ["Asks", asks],
      ["Gets", variables && `${[...variables].sort().map((name) => `${name}, `).join("")}of yours only ${base}`],
    ]),
  ];
  await dialog({
    title: guarded.length > 1 ? "They go through the guard" : "It goes through the guard",
    body: [
      guarded.map(one),
      denials.warning && element("p", { class: "problem" }, prose(denials.warning)),
      denials.denied && element("p", {}, denials.denied),
      client.shows_forms ? null : element("p", { class: "note" }, `${client.title} shows no forms: keep Approvals open here, or whatever asks is denied.`),
      changes.filter((change) => change.note).map((change) => element("p", { class: "dim small" }, `${change.server}: ${change.note}`)),
      element("p", { class: "dim small" }, "Policy: ", element("code", {}, short(policy.file)), policy.made ? " (made just now)" : "", policy.profiles ? "" : prose(". It has no place for profiles, so none counts: `claw policy init --print` shows the two rules to copy.")),
      element("p", {}, `Restart ${client.title} for this to count.`),
    ],
  });
}

function ourLine(client, what, title, act) {
  const { state, note } = client[what];
  const has = state === "installed";
  const label = `${has ? "Remove" : "Add"} ${title.toLowerCase()} ${has ? "from" : "to"} ${client.title}`;
  const can = has || state === "not installed";
  return element(
    "li",
    {},
    element("span", {}, element("span", { class: "strong" }, title), " ", has ? badge("added", "good") : state !== "not installed" && badge(state, "warn"), note ? element("span", { class: "dim small" }, " ", prose(note)) : null),
    can && button(has ? "Remove" : "Add", act(has ? "remove" : "install", what, has ? `${title} is taken out.` : `${title} is added.`), { class: has ? "" : "primary", "aria-label": label, "data-place": `${client.id} ${what}` }),
  );
}

const STATES = { wrapped: ["guarded", "good"], "not wrapped": ["not guarded", "plain"] };

/** A server in all files that have one of its name, which its buttons change together. */
function serverLine(client, { server, places }, act, short) {
  const place = ({ state, note, file, keys }) => {
    const [said, kind] = STATES[state] || [state, "warn"];
    const where = keys[0] === "projects" ? `${short(keys[1])} in ${short(file)}` : (places.length > 1 || file !== client.file) && short(file);
    return [badge(said, kind), where && element("span", { class: "dim small mono" }, ` ${where}`), note && element("span", { class: "dim small" }, " ", prose(note))];
  };
  const offer = (label, change, done) => button(label, act(change, server, done), { "aria-label": `${label} ${server}`, "data-place": `${client.id} server ${server}` });
  return element(
    "li",
    {},
    element("span", {}, server, " ", places.length > 1 ? places.map((one) => element("span", { class: "place" }, place(one))) : place(places[0])),
    element("span", { class: "row" }, places.some(isOpen) && offer("Guard", "guard", "It goes through the guard."), places.some(isGuarded) && offer("Unguard", "unguard", "It goes on without the guard.")),
  );
}

async function drawPastes(part, context) {
  const place = element("div", {});
  const what = element("select", {}, OURS.map(([name, title]) => element("option", { value: name }, title)));
  const draw = async () => {
    const found = await context.fetchJson(`/api/connect/pastes?what=${what.value}`);
    replace(place, found.map(({ client, place: where, text }) => pasteBlock(client, where, text)));
  };
  what.addEventListener("change", () => context.attempt(draw));
  await draw();
  replace(part, element("details", { class: "card" }, element("summary", {}, "Another client on this machine: what to paste"), field("What", what), place));
}

function pasteBlock(title, where, text) {
  const copy = button("Copy", async () => {
    await navigator.clipboard.writeText(text);
    toast("Copied");
  }, { "aria-label": `Copy for ${title}` });
  return element("div", { class: "paste" }, element("p", { class: "spread" }, element("span", {}, element("span", { class: "strong" }, title), element("span", { class: "dim" }, ` ${where}`)), copy), element("pre", { tabindex: "0" }, text));
}

async function drawTeam(place, context) {
  const { served, beings, clients, tokens, total, logins } = await context.fetchJson("/api/connect/tokens");
  const reload = () => redraw(place, () => drawTeam(place, context));
  const revoke = ({ token, being_id: being }) => context.attempt(async () => {
    const body = element("p", {}, `“${token.label || token.id.slice(0, 8)}” opens its Being no longer.`);
    if (!(await confirm({ title: "Revoke this token?", body, action: "Revoke", kind: "danger" }))) return;
    await context.fetchJson("/api/memory/tokens/revoke", { body: { being, token: token.id } });
    toast(`Revoked: ${token.label || token.id.slice(0, 8)}`);
    await reload();
  });
  const end = ({ id, client, person }) => context.attempt(async () => {
    const body = element("p", {}, `“${client}” has to ask ${person} again.`);
    if (!(await confirm({ title: "End this login?", body, action: "End", kind: "danger" }))) return;
    await context.fetchJson("/api/connect/end-login", { body: { login: id } });
    toast(`Ended: the login of ${client}`);
    await reload();
  });
  replace(
    place,
    element("div", { class: "spread" }, element("h2", {}, "Others and your team"), beings.length > 0 && button("Share a memory", () => context.attempt(async () => (await share(context, beings, clients)) && reload()), { class: "primary" })),
    element("p", { class: "dim" }, served ? ["Memories are served at ", element("code", {}, served), "."] : ["Nobody serves memories right now: ", element("code", {}, "claw being serve"), " does."]),
    table({
      caption: "Tokens that count, the last used first",
      columns: [
        { title: "Token", cell: ({ token }) => token.label || token.id.slice(0, 8) },
        { title: "Being", cell: ({ being }) => being },
        { title: "May", cell: ({ token }) => (token.owner && token.scope === "full" ? "full, owner" : token.scope) },
        { title: "Person", cell: ({ token }) => token.person },
        { title: "Last used", cell: ({ token }) => (token.used === null ? "never" : ago(token.used)), class: "nowrap" },
        { title: "", spoken: "Revoke", cell: (one) => button("Revoke", () => revoke(one), { class: "danger", "aria-label": `Revoke ${one.token.label || one.token.id.slice(0, 8)}` }) },
      ],
      rows: tokens,
      empty: "No token counts: nobody reaches a memory over HTTP.",
    }),
    total > tokens.length ? element("p", { class: "dim small" }, `The first ${tokens.length.toLocaleString("en")} of ${total.toLocaleString("en")}.`) : null,
    logins.length > 0 && table({
      caption: "Logins that count, the last used first",
      columns: [
        { title: "Client", cell: ({ client }) => client },
        { title: "Opens", cell: ({ opens }) => opens },
        { title: "May", cell: ({ scope }) => scope.replaceAll(" ", ", ") },
        { title: "Person", cell: ({ person }) => person },
        { title: "Last used", cell: ({ used }) => ago(used), class: "nowrap" },
        { title: "", spoken: "End", cell: (one) => button("End", () => end(one), { class: "danger", "aria-label": `End the login of ${one.client}` }) },
      ],
      rows: logins,
    }),
  );
}

async function share(context, beings, clients) {
  const being = element("select", {}, beings.map((one) => element("option", { value: one.id }, one.name)));
  const person = element("input", { maxlength: "200" });
  const client = element("select", {}, element("option", { value: "" }, "Most clients"), clients.map(({ id, title }) => element("option", { value: id }, title)));
  const scope = element("select", {}, element("option", { value: "full" }, "full"), element("option", { value: "read-only" }, "read-only"));
  const expires = element("input", { placeholder: "never, or 30d, 2027-01-31" });
  const url = element("input", { placeholder: "where claw being serve runs" });
  const body = element("div", { class: "stack" }, field("Memory of", being), field("For whom", person), field("Their client", client), field("May", scope), field("Expires", expires), field("Address that they use", url));
  const make = () => context.fetchJson("/api/connect/share", { body: { being: being.value, person: person.value, client: client.value, scope: scope.value, expires: expires.value, url: url.value } });
  const made = await dialog({ title: "Share a memory", body, actions: [{ label: "Make it", act: make, kind: "primary" }, { label: "Cancel", value: null }] });
  if (!made) return false;
  const more = element("div", {}, element("p", {}, "Address: ", element("code", {}, made.url)), pasteBlock("Their client", made.place || "in its config", made.config), made.served ? null : element("p", { class: "note" }, prose("Nobody serves it right now: `claw being serve` does, at this address.")));
  await showSecret("What to hand over, this once", made.token, more);
  return true;
}

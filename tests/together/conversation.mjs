// What a Node client says to the server of everything, whichever SDK it is made with.
//
// It is started as `node FILE '{"era": …, "command": […] or "url": …, "asks": bool, "name": …}'` and
// prints one JSON object: what it got. The Python test that starts it says what that should be.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const peers = createRequire(new URL("../node/package.json", import.meta.url));
export const load = (name) => import(pathToFileURL(peers.resolve(name)).href);
export const task = JSON.parse(process.argv[2]);
export const heard = { asked: [], logs: [], changed: 0 };
export const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };

let somethingHeard = () => {};
export function hear(change) {
  change();
  somethingHeard();
}

async function until(done) {
  while (!done()) await new Promise((resolve) => (somethingHeard = resolve));
}

export const answers = {
  elicit({ params }) {
    heard.asked.push(params.message);
    const content = params.message === "Where to?" ? { city: "Oslo", days: 2 } : { name: "Ada" };
    return { action: "accept", content };
  },
  sample({ params }) {
    const text = `not ${params.messages[0].content.text}`;
    return { role: "assistant", model: "tiny", content: { type: "text", text } };
  },
  roots() {
    return { roots: [{ uri: "file:///home/ada" }] };
  },
};

async function everyTool(client) {
  const names = [];
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? undefined : { cursor });
    names.push(...page.tools.map((tool) => tool.name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return names;
}

async function cancel(call) {
  const stop = new AbortController();
  const name = `${task.name} asleep`;
  const sleeping = call("sleep-softly", { name }, { signal: stop.signal, onprogress: () => stop.abort() });
  const error = await sleeping.catch((reason) => reason);
  const seen = await call("was-cancelled", { name });
  return error instanceof Error && seen.content[0].text === `${name} was cancelled`;
}

async function refused(promise) {
  const error = await promise.catch((reason) => reason);
  return error.code;
}

async function asking(call, client) {
  const text = async (name, args) => (await call(name, args)).content[0].text;
  return {
    named: await text("ask-name"),
    planned: await text("plan-trip"),
    erased: await text("erase", { what: "disk" }),
    thought: await text("think", { question: "that" }),
    folders: await text("folders"),
    introduced: (await client.getPrompt({ name: "introduce" })).messages[0].content.text,
  };
}

/** Everything there is to say. `call(name, arguments, options)` calls a tool of `client`. */
export async function converse(client, call, version, log) {
  const steps = [];
  const onprogress = ({ progress, total }) => steps.push([progress, total]);
  const items = [{ name: "pen", grams: 10 }, { name: "mug", grams: 300 }];
  const report = {
    version: version(),
    server: client.getServerVersion().title,
    instructions: client.getInstructions(),
    tools: await everyTool(client),
    text: (await call("greet", { name: "Ada" })).content,
    image: (await call("picture")).content,
    audio: (await call("sound")).content,
    link: (await call("pointer")).content[0].type,
    structured: (await call("weigh", { items })).structuredContent,
    counted: (await call("count", { to: 3 }, { onprogress })).content[0].text,
    steps,
    weather: (await call("weather", { region: "Østlandet" })).content[0].text,
    failed: await call("fail", { reason: "no luck" }).then((r) => [r.isError, r.content[0].text]),
    unknown: await refused(call("nonesuch")),
    resources: (await client.listResources()).resources.map((item) => item.uri),
    templates: (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate),
    note: (await client.readResource({ uri: "note://today" })).contents[0].text,
    dot: (await client.readResource({ uri: "image://dot" })).contents[0].blob,
    user: (await client.readResource({ uri: "users://7/profile" })).contents[0].text,
    missing: await refused(client.readResource({ uri: "note://never" })),
    prompts: (await client.listPrompts()).prompts.map((prompt) => prompt.name),
    review: (await client.getPrompt({ name: "review", arguments: { code: "x = 1" } })).messages,
    gallery: (await client.getPrompt({ name: "gallery" })).messages.map((m) => m.content.type),
    languages: (
      await client.complete({
        ref: { type: "ref/prompt", name: "review" },
        argument: { name: "language", value: "p" },
      })
    ).completion.values,
  };
  if (task.asks) {
    report.answers = await asking(call, client);
    report.asked = heard.asked;
    report.cancelled = await cancel(call);
    await log();
    await call("chatter", {});
    await until(() => heard.logs.length >= 2);
    report.logs = heard.logs;
    await call("grow", { name: task.name });
    await until(() => heard.changed > 0);
    report.changed = true;
  }
  await client.close();
  console.log(JSON.stringify(report));
}

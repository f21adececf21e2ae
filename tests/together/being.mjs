// A Being, used by a Node client of either package: `node being.mjs '{"client": "sdk1" or "client2",
// "era": …, "url": …, "token": …, "calls": [[tool, arguments], …]}'` prints its tools and what came back.
import { load, task } from "./conversation.mjs";

const first = task.client === "sdk1";
const sdk = first ? "@modelcontextprotocol/sdk" : "@modelcontextprotocol/client";
const { Client } = await load(first ? `${sdk}/client/index.js` : sdk);
const { StreamableHTTPClientTransport } = await load(first ? `${sdk}/client/streamableHttp.js` : sdk);

const mode = task.era === "modern" ? { pin: "2026-07-28" } : task.era;
const options = first ? {} : { versionNegotiation: { mode } };
const client = new Client({ name: "node", version: "1.0.0" }, { capabilities: {}, ...options });
const requestInit = { headers: { Authorization: `Bearer ${task.token}` } };
const transport = new StreamableHTTPClientTransport(new URL(task.url), { requestInit });

const report = { session: null, tools: [], results: [], refused: null };
try {
  await client.connect(transport);
  report.session = transport.sessionId ?? null;
  report.tools = (await client.listTools()).tools.map((tool) => tool.name);
  for (const [name, args] of task.calls)
    report.results.push(await client.callTool({ name, arguments: args }));
} catch (error) {
  report.refused = String(error);
}
await client.close();
console.log(JSON.stringify(report));

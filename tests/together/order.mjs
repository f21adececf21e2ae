// Orders of the assistant, by a Node client of either package: `node order.mjs '{"client": "sdk1" or
// "client2", "era": …, "command": […], "env": {…}, "orders": […]}'` prints what came back.
import { load, task } from "./conversation.mjs";

const first = task.client === "sdk1";
const sdk = first ? "@modelcontextprotocol/sdk" : "@modelcontextprotocol/client";
const { Client } = await load(first ? `${sdk}/client/index.js` : sdk);
const { StdioClientTransport } = await load(first ? `${sdk}/client/stdio.js` : `${sdk}/stdio`);

const mode = task.era === "modern" ? { pin: "2026-07-28" } : task.era;
const options = first ? {} : { versionNegotiation: { mode } };
const client = new Client({ name: "node", version: "1.0.0" }, { capabilities: {}, ...options });
const [command, ...args] = task.command;
await client.connect(new StdioClientTransport({ command, args, env: task.env, stderr: "ignore" }));

const { tools } = await client.listTools();
const results = [];
for (const order of task.orders)
  results.push(await client.callTool({ name: "order_openclaw", arguments: order }));
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), results }));

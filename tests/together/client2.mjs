// @modelcontextprotocol/client 2: the client of both eras.
import { CAPABILITIES, answers, converse, hear, heard, load, task } from "./conversation.mjs";

const sdk = "@modelcontextprotocol/client";
const { Client, StreamableHTTPClientTransport } = await load(sdk);
const { StdioClientTransport } = await load(`${sdk}/stdio`);

const mode = task.era === "modern" ? { pin: "2026-07-28" } : task.era;
const client = new Client(
  { name: "node", version: "2.0.0" },
  { capabilities: CAPABILITIES, versionNegotiation: { mode } },
);
client.setRequestHandler("elicitation/create", answers.elicit);
client.setRequestHandler("sampling/createMessage", answers.sample);
client.setRequestHandler("roots/list", answers.roots);
client.setNotificationHandler("notifications/message", ({ params }) =>
  hear(() => heard.logs.push(params.level)),
);
client.setNotificationHandler("notifications/tools/list_changed", () =>
  hear(() => (heard.changed += 1)),
);

const [command, ...args] = task.command ?? [];
const transport = task.url
  ? new StreamableHTTPClientTransport(new URL(task.url))
  : new StdioClientTransport({ command, args, stderr: "ignore" });
await client.connect(transport);

const modern = client.getProtocolEra() === "modern";
const meta = modern ? { _meta: { "io.modelcontextprotocol/logLevel": "warning" } } : {};
await converse(
  client,
  (name, args, options) => client.callTool({ name, arguments: args ?? {}, ...meta }, options),
  () => client.getNegotiatedProtocolVersion(),
  () => (modern ? client.listen({ toolsListChanged: true }) : client.setLoggingLevel("warning")),
);

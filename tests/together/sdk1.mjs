// @modelcontextprotocol/sdk 1: the client of the handshake era.
import { CAPABILITIES, answers, converse, hear, heard, load, task } from "./conversation.mjs";

const sdk = "@modelcontextprotocol/sdk";
const { Client } = await load(`${sdk}/client/index.js`);
const { StdioClientTransport } = await load(`${sdk}/client/stdio.js`);
const { StreamableHTTPClientTransport } = await load(`${sdk}/client/streamableHttp.js`);
const types = await load(`${sdk}/types.js`);

const client = new Client({ name: "node", version: "1.0.0" }, { capabilities: CAPABILITIES });
client.setRequestHandler(types.ElicitRequestSchema, answers.elicit);
client.setRequestHandler(types.CreateMessageRequestSchema, answers.sample);
client.setRequestHandler(types.ListRootsRequestSchema, answers.roots);
client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) =>
  hear(() => heard.logs.push(params.level)),
);
client.setNotificationHandler(types.ToolListChangedNotificationSchema, () =>
  hear(() => (heard.changed += 1)),
);

const [command, ...args] = task.command ?? [];
const transport = task.url
  ? new StreamableHTTPClientTransport(new URL(task.url))
  : new StdioClientTransport({ command, args, stderr: "ignore" });
let version;
transport.setProtocolVersion ??= () => {};
const inner = transport.setProtocolVersion.bind(transport);
transport.setProtocolVersion = (chosen) => {
  version = chosen;
  inner(chosen);
};
await client.connect(transport);
await converse(
  client,
  (name, args, options) => client.callTool({ name, arguments: args ?? {} }, undefined, options),
  () => version,
  () => client.setLoggingLevel("warning"),
);

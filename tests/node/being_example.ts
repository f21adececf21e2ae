// The documented way to use a Being from TypeScript: `node being_example.ts URL TOKEN "what the user says"`
// prints what `get_context` and `recall` gave.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token, userInput]: string[] = process.argv.slice(2);

const client = new Client({ name: "cowork-agent", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: {
    headers: { Authorization: `Bearer ${token}` },
  },
});
await client.connect(transport);

// Retrieve persona and snapshot at session start
const ctx = await client.callTool({ name: "get_context", arguments: {} });

// Per-turn: recall relevant memories before responding
const memories = await client.callTool({
  name: "recall",
  arguments: { user_message: userInput },
});

await client.close();
console.log(JSON.stringify({ ctx, memories }));

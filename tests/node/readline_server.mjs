// An MCP server as many begin: Node's readline for the lines. It answers with each line as it heard it.
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  let message = {};
  try {
    message = JSON.parse(line);
  } catch {
    message = { id: "broken" };
  }
  if (message.id === undefined) continue;
  const result = { method: message.method ?? "", name: message.params?.name ?? "", line };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }) + "\n");
}

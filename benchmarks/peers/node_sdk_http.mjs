// The official Node SDK, version 1, over stateless Streamable HTTP with JSON answers, on a free port.
// Stateless means a server and a transport for each request: the SDK refuses to reuse them.
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const inputSchema = { a: z.number().int(), b: z.number().int() };

function bench() {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool(
    'add',
    { description: 'Add two numbers.', inputSchema },
    async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
  );
  return server;
}

const listener = createServer(async (request, response) => {
  const server = bench();
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  response.on('close', () => server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
});
listener.listen(0, '127.0.0.1', () => console.log(listener.address().port));

// The official Node SDK, version 2, over stateless Streamable HTTP, on a free port.
// Its handler speaks web Requests; this is the least that joins it to node:http.
import { createServer } from 'node:http';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { z } from 'zod';

const inputSchema = z.object({ a: z.number().int(), b: z.number().int() });

const handler = createMcpHandler(
  () => {
    const server = new McpServer({ name: 'bench', version: '1.0.0' });
    server.registerTool(
      'add',
      { description: 'Add two numbers.', inputSchema },
      async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
    );
    return server;
  },
  { responseMode: 'json' },
);

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const listener = createServer(async (request, response) => {
  const body = await bodyOf(request);
  const url = `http://${request.headers.host}${request.url}`;
  const { method, headers } = request;
  const answer = await handler.fetch(new Request(url, { method, headers, body }));
  const payload = Buffer.from(await answer.arrayBuffer());
  const answered = { ...Object.fromEntries(answer.headers), 'content-length': payload.length };
  response.writeHead(answer.status, answered).end(payload);
});
listener.listen(0, '127.0.0.1', () => console.log(listener.address().port));

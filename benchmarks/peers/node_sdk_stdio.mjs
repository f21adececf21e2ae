// The official Node SDK, version 1 (handshake era): one tool, `add`, over stdio.
// Run with --eval from the folder that holds node_modules, so that its imports resolve there.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'bench', version: '1.0.0' });
server.registerTool(
  'add',
  { description: 'Add two numbers.', inputSchema: { a: z.number().int(), b: z.number().int() } },
  async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
);
await server.connect(new StdioServerTransport());

// A host of MCP Apps in a browser, of the official client and the official bridge.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, getToolUiResourceUri, PostMessageTransport, RESOURCE_MIME_TYPE } from "@modelcontextprotocol/ext-apps/app-bridge";

const RULES = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'";
let client;
let bridge;
const called = [];

async function connect(url, token) {
  client = new Client({ name: "host", version: "1.0.0" }, { capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } } } });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
}

async function call(name, input) {
  const result = await client.callTool({ name, arguments: input });
  return result.content[0].text;
}

async function show(name, input, theme) {
  const { tools } = await client.listTools();
  const tool = tools.find((one) => one.name === name);
  const { contents } = await client.readResource({ uri: getToolUiResourceUri(tool) });
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  document.body.replaceChildren(frame);
  bridge = new AppBridge(null, { name: "host", version: "1.0.0" }, { serverTools: {}, serverResources: {} }, { hostContext: { theme, toolInfo: { tool } } });
  const forward = (params) => (called.push(params.name), client.callTool(params));
  bridge.oncalltool = forward;
  bridge.onsizechange = ({ height }) => (frame.style.height = `${height}px`);
  const ready = new Promise((resolve) => (bridge.oninitialized = resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = contents[0].text.replace("<head>", `<head><meta http-equiv="Content-Security-Policy" content="${RULES}">`);
  await ready;
  await bridge.sendToolInput({ arguments: input });
  await bridge.sendToolResult(await client.callTool({ name, arguments: input }));
}

window.host = {
  connect,
  call,
  show,
  called,
  theme: (theme) => bridge.setHostContext({ theme }),
  leave: () => bridge.teardownResource({}),
};

// A Node client that logs in: `node login.mjs '{"client": "sdk1" or "client2", "era": …, "url": …,
// "redirect": …, "document": …, "calls": [[tool, arguments], …], "refused": the same}'`. For each login it prints the address
// for a browser as a line of JSON, and reads where the browser was sent from a line of its input.
import { createInterface } from "node:readline";
import { load, task } from "./conversation.mjs";

const first = task.client === "sdk1";
const sdk = first ? "@modelcontextprotocol/sdk" : "@modelcontextprotocol/client";
const { Client } = await load(first ? `${sdk}/client/index.js` : sdk);
const { StreamableHTTPClientTransport } = await load(first ? `${sdk}/client/streamableHttp.js` : sdk);
const { UnauthorizedError } = await load(first ? `${sdk}/client/auth.js` : sdk);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (told) => console.log(JSON.stringify(told));

const kept = {};
const provider = {
  redirectUrl: task.redirect,
  clientMetadataUrl: task.document,
  clientMetadata: {
    client_name: "Node client",
    redirect_uris: [task.redirect],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  state: () => "node-state",
  clientInformation: () => kept.client,
  saveClientInformation: (client) => (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => (kept.tokens = tokens),
  redirectToAuthorization: (address) => say({ authorize: address.href }),
  saveCodeVerifier: (verifier) => (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => (kept.discovery = state),
  discoveryState: () => kept.discovery,
};

const mode = task.era === "modern" ? { pin: "2026-07-28" } : task.era;
const options = first ? {} : { versionNegotiation: { mode } };
const connection = () => ({
  client: new Client({ name: "node", version: "1.0.0" }, { capabilities: {}, ...options }),
  transport: new StreamableHTTPClientTransport(new URL(task.url), { authProvider: provider }),
});

async function logIn(transport) {
  const { searchParams } = new URL((await lines.next()).value);
  await transport.finishAuth(first ? searchParams.get("code") : searchParams);
}

let { client, transport } = connection();
try {
  await client.connect(transport);
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
  await logIn(transport);
  ({ client, transport } = connection());
  await client.connect(transport);
}
const results = [];
for (const [name, args] of task.calls) {
  const call = () => client.callTool({ name, arguments: args });
  try {
    results.push(await call());
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await logIn(transport);
    results.push(await call());
  }
}
const refusals = [];
for (const [name, args] of task.refused ?? []) {
  await client.callTool({ name, arguments: args }).then(
    () => refusals.push(""),
    (error) => refusals.push(String(error.message)),
  );
}
say({ results, refusals, scope: kept.tokens.scope, client: kept.client?.client_id ?? null });
await client.close();
process.exit(0);

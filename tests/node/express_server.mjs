// A server on Express that answers with what it understood of the request.
import express from "express";

const app = express();
app.use(express.json());
app.post("/mcp", (request, response) => {
  const { id, params } = request.body;
  const result = { name: params?.name, headers: request.headers, method: request.method };
  response.json({ jsonrpc: "2.0", id, result });
});
const listening = app.listen(0, "127.0.0.1", () => console.log(listening.address().port));

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport }
  from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { z } from "zod";

function makeServer() {
  const server = new McpServer({ name: "demo", version: "1.0.0" });
  server.registerTool("add", {
    description: "adds two numbers", inputSchema: { a: z.number(), b: z.number() },
  }, async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }));
  return server;
}

export default {
  async fetch(request) {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: undefined,
      enableJsonResponse: !request.url.endsWith("/events"),
    });
    await makeServer().connect(transport);
    return transport.handleRequest(request);
  },
};

import { H3, getQuery, readBody } from "h3";

const app = new H3();
app.get("/", () => "hello h3")
  .get("/q", (event) => ({ q: getQuery(event) }))
  .post("/echo", async (event) => await readBody(event));
export default app;

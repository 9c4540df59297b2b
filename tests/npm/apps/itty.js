import { AutoRouter, json } from "itty-router";

const router = AutoRouter();
router
  .get("/hello/:name", ({ name }) => `Hello, ${name}!`)
  .get("/json", () => ({ a: 1 }))
  .post("/echo", async (request) => json(await request.json()));
export default router;

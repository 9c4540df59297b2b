import { Elysia, t } from "elysia";

export default new Elysia()
  .get("/", () => "Hello Elysia")
  .get("/json/:id", ({ params }) => ({ id: params.id }))
  .post("/body", ({ body }) => body, { body: t.Object({ n: t.Number() }) });

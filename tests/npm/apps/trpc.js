import { initTRPC } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import { z } from "zod";

const t = initTRPC.create();
const router = t.router({
  hello: t.procedure.input(z.object({ name: z.string() })).query(({ input }) => `hi ${input.name}`),
  add: t.procedure.input(z.number()).mutation(({ input }) => input + 1),
  ticks: t.procedure.subscription(async function* () {
    for (let i = 0; i < 3; i++) yield i;
  }),
});

export default {
  fetch: (req) => fetchRequestHandler({
    endpoint: "/trpc", req, router, createContext: () => ({}),
  }),
};

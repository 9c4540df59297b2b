import { z } from "zod";

const User = z.object({ name: z.string().min(2), email: z.email(), age: z.number().int().optional() });

export default {
  async fetch(request) {
    const parsed = User.safeParse(await request.json());
    return parsed.success ? Response.json(parsed.data)
      : Response.json(parsed.error.issues.map((issue) => issue.path.join(".")), { status: 400 });
  },
};

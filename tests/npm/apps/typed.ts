import { Context, Hono } from "hono";
import { z, ZodError } from "zod";

enum Level { Low = 1, High }
interface Note { text: string; level: Level }
const Note: z.ZodType<Note> = z.object({ text: z.string(), level: z.nativeEnum(Level) });

class Notes {
  constructor(private readonly notes: Note[] = []) {}
  add(note: Note): number {
    return this.notes.push(note);
  }
}

const notes = new Notes();
const app = new Hono<{ Variables: { start: number } }>();
app.post("/notes", async (c: Context): Promise<Response> => {
  try {
    return c.json({ count: notes.add(Note.parse(await c.req.json())) });
  } catch (error: unknown) {
    return c.json({ issues: (error as ZodError).issues!.length }, 400);
  }
});
export default app satisfies { fetch: unknown };

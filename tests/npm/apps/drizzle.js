import { and, desc, eq, gt } from "drizzle-orm";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { drizzle } from "drizzle-orm/sqlite-proxy";
import { open } from "weft:data";

const users = sqliteTable("users", {
  id: integer("id").primaryKey(),
  name: text("name").notNull(),
});
const connection = await open("data.main");
await connection.exec("create table if not exists users (id integer primary key, name text)");

const db = drizzle(async (statement, parameters, method) => {
  if (method === "run") {
    await connection.exec(statement, parameters);
    return { rows: [] };
  }
  const { rows } = await connection.queryRaw(statement, parameters);
  return { rows: method === "get" ? rows[0] : rows };
});

export default {
  async fetch(request) {
    const name = new URL(request.url).searchParams.get("name");
    const [added] = await db.insert(users).values({ name }).returning();
    await db.update(users).set({ name: `${name}!` }).where(eq(users.id, added.id));
    const rows = await db.select().from(users)
      .where(and(eq(users.name, `${name}!`), gt(users.id, 0))).orderBy(desc(users.id));
    return Response.json({ added, rows });
  },
};

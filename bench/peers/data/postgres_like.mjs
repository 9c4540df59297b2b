// What Bun.sql and postgres.js have in common.
const kPage = 1000;

// `pages(text)` gives the pages of a result, which each client does in its own way.
export function clientOf(sql, pages, end) {
  const one = (id) => sql`select id, randomnumber from world where id = ${id}`.then((rows) => rows[0]);
  const big = "select id, n, name, ts from big";
  return {
    select: one,
    batch: (ids) => Promise.all(ids.map(one)),
    transaction: (id, number) => sql.begin(async (tx) => {
      await tx`select randomnumber from world where id = ${id}`;
      await tx`update world set randomnumber = ${number} where id = ${id}`;
      await tx`insert into ins(a, b) values (${id}, ${"x"})`;
    }),
    rows: (n) => sql`select id, n, name, ts from big where id <= ${n}`,
    async *stream() {
      for await (const page of pages(big, kPage)) yield* page;
    },
    async ndjson() {
      let bytes = 0;
      const encoder = new TextEncoder();
      for await (const page of pages(big, kPage)) {
        bytes += encoder.encode(page.map((row) => JSON.stringify(row)).join("\n")).byteLength;
      }
      return bytes;
    },
    sleep() {
      const query = sql`select pg_sleep(5)`;
      const settled = query.then(() => {}, () => {});
      return { settled, cancel: () => query.cancel() };
    },
    close: end,
  };
}

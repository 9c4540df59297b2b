// The PostgreSQL that tests/data/with_postgres started.
import { postgres } from "weft:data";

const { PGHOST, PGPORT, PGUSER, PGDATABASE } = process.env;
export const connectionString =
  `host=${PGHOST} port=${PGPORT} user=${PGUSER} dbname=${PGDATABASE}`;

export async function withDatabase(work, options = {}) {
  const db = await postgres.open({ connectionString, ...options });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

// A database whose tables are those of an empty schema.
export async function inSchema(name) {
  await withDatabase((db) => db.batch(
    [`drop schema if exists ${name} cascade`, `create schema ${name}`]));
  return postgres.open({
    connectionString: `${connectionString} options='-c search_path=${name}'`,
  });
}

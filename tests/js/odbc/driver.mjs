// The driver that the test was given by WEFT_ODBC_SQLITE.
import { odbc } from "weft:data";

export const connectionString = `Driver=${process.env.WEFT_ODBC_SQLITE};Database=:memory:`;

// A database of its own, which has one connection and is gone with it.
export function open(options = {}) {
  return odbc.open({ connectionString, maxConnections: 1, ...options });
}

export async function withDatabase(work, options) {
  const db = await open(options);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

// test.each(table)(name, act): one test per row.
"use strict";

const { show } = load("test/diff");

const at = (row, path) => path.split(".").reduce((value, key) => value?.[key], row);

// "%s %d %i %f %j %o %p %#" are replaced by the row's values in turn; "$a.b" by a property of the
// row.
function titleOf(title, row, index) {
  const values = Array.isArray(row) ? [...row] : [row];
  const filled = title.replace(/%([sdifjop#%])/g, (all, kind) => {
    if (kind === "%") return "%";
    if (kind === "#") return String(index);
    if (values.length === 0) return all;
    const value = values.shift();
    switch (kind) {
      case "s": return typeof value === "string" ? value : show(value);
      case "d": case "f": return String(Number(value));
      case "i": return String(Math.trunc(Number(value)));
      case "j": return JSON.stringify(value);
      default: return show(value);
    }
  });
  return filled.replace(/\$([A-Za-z_][\w.]*)/g, (all, path) => {
    const value = at(row, path);
    return value === undefined ? all : typeof value === "string" ? value : show(value);
  });
}

// A tagged template as a table: names in the first line, values between "|".
function rowsOf(table, values) {
  if (!Array.isArray(table?.raw)) return [...table];
  const names = table[0].split("|").map((name) => name.trim()).filter((name) => name !== "");
  if (names.length === 0) throw new TypeError("each: the first line of the table has the names");
  const rows = [];
  for (let i = 0; i < values.length; i += names.length) {
    rows.push(Object.fromEntries(names.map((name, j) => [name, values[i + j]])));
  }
  return rows;
}

const each = (add) => (table, ...values) => (title, act, options) => {
  rowsOf(table, values).forEach((row, index) => {
    const args = Array.isArray(row) ? row : [row];
    add(titleOf(title, row, index), (...rest) => act(...args, ...rest), options);
  });
};

return { each };

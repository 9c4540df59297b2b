import { sqlite } from "weft:data";
import { runCases } from "../../data/conformance.mjs";

test("DAT_1 every case holds for sqlite", () =>
  runCases("sqlite", () => sqlite.open({ path: ":memory:" })));

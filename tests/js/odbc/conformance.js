import { runCases } from "../../data/conformance.mjs";
import { open } from "./driver.mjs";

test("DAT_4 every case holds for sqlite by ODBC", () => runCases("odbc-sqlite", () => open()));

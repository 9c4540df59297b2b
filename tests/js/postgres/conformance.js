import { runCases } from "../../data/conformance.mjs";
import { inSchema } from "./server.mjs";

test("DAT_1 every case holds for postgres", () => runCases("postgres", (i) => inSchema(`case_${i}`)));

// The Weft of bench-js, row file: a template.
import { file } from "weft:http";

export default { fetch: (_request) => file("@WWW@/10k.bin") };

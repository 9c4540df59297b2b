import debug from "debug";
import lodash from "lodash";
import ms from "ms";
import semver, { gt } from "semver";
import { v4 } from "uuid";

export default {
  fetch: () => Response.json([
    lodash.chunk([1, 2, 3], 2).length, gt("2.0.0", "1.0.0"), semver.valid("1.2.3"), ms("2h"),
    typeof debug("x"), v4().length,
  ]),
};

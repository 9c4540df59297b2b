// JS-2: util.parseArgs, as Node.js documents it.
import util, { parseArgs } from "node:util";

const plain = ({ values, ...rest }) => ({ values: { ...values }, ...rest });
const codeOf = (config) => assertThrows(() => parseArgs(config), TypeError).code;

test("JS_2 util.parseArgs: long and short options, and positionals", () => {
  assertEquals(util.parseArgs, parseArgs);
  const options = {
    foo: { type: "boolean", short: "f" }, bar: { type: "string", short: "b" },
    all: { type: "boolean", short: "a" },
  };
  const parse = (...args) => plain(parseArgs({ args, options, allowPositionals: true }));
  assertEquals(parse("-f", "--bar", "b"), { values: { foo: true, bar: "b" }, positionals: [] });
  assertEquals(parse("x", "--bar=b=c", "y"), { values: { bar: "b=c" }, positionals: ["x", "y"] });
  assertEquals(parse("-fab", "v"), { values: { foo: true, all: true, bar: "v" }, positionals: [] });
  assertEquals(parse("-afbFILE"),
    { values: { all: true, foo: true, bar: "FILE" }, positionals: [] });
  assertEquals(parse("-bFILE", "-", "--", "-f", "--"),
    { values: { bar: "FILE" }, positionals: ["-", "-f", "--"] });
  assertEquals(parse("--bar="), { values: { bar: "" }, positionals: [] });
  assertEquals(Object.getPrototypeOf(parseArgs({ args: [] }).values), null);
});

test("JS_2 util.parseArgs: by itself, the arguments of the process", () => {
  const { argv } = process;
  process.argv = ["weft", "file", "--x"];
  assertEquals(plain(parseArgs({ options: { x: { type: "boolean" } } })).values, { x: true });
  process.argv = argv;
});

test("JS_2 util.parseArgs: multiple, defaults and negation", () => {
  const options = {
    many: { type: "string", multiple: true }, flags: { type: "boolean", multiple: true, short: "v" },
    some: { type: "string", default: "preset" }, list: { type: "string", multiple: true, default: ["a"] },
    color: { type: "boolean", default: true },
  };
  assertEquals(plain(parseArgs({ args: ["--many=1", "-vv", "--many", "2"], options })).values, {
    many: ["1", "2"], flags: [true, true], some: "preset", list: ["a"], color: true,
  });
  assertEquals(parseArgs({ args: ["--no-color"], options, allowNegative: true }).values.color, false);
  assertEquals(codeOf({ args: ["--no-color"], options }), "ERR_PARSE_ARGS_UNKNOWN_OPTION");
  assertEquals(codeOf({ args: ["--no-some"], options, allowNegative: true }),
    "ERR_PARSE_ARGS_UNKNOWN_OPTION");
});

test("JS_2 util.parseArgs: what is wrong is said", () => {
  const options = { foo: { type: "boolean", short: "f" }, bar: { type: "string", short: "b" } };
  const wrong = (args, code, text, more = {}) => {
    const error = assertThrows(() => parseArgs({ args, options, ...more }), TypeError, text);
    assertEquals(error.code, code);
  };
  wrong(["--baz"], "ERR_PARSE_ARGS_UNKNOWN_OPTION", "Unknown option '--baz'");
  wrong(["-z"], "ERR_PARSE_ARGS_UNKNOWN_OPTION", "place it at the end of the command after '--'",
    { allowPositionals: true });
  wrong(["x"], "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL",
    "Unexpected argument 'x'. This command does not take positional arguments");
  const value = "ERR_PARSE_ARGS_INVALID_OPTION_VALUE";
  wrong(["--bar"], value, "Option '-b, --bar <value>' argument missing");
  wrong(["--foo=1"], value, "Option '-f, --foo' does not take an argument");
  wrong(["--bar", "-x"], value, "Option '--bar' argument is ambiguous.");
  wrong(["-b", "-x"], value, "use '--bar=-XYZ' or '-b-XYZ'.");
  assertEquals(parseArgs({ args: ["--bar=-x"], options }).values.bar, "-x");
  for (const bad of [
    { args: "x" }, { options: [] }, { strict: 1 }, { tokens: "yes" }, { allowPositionals: 0 },
    { options: { a: {} } }, { options: { a: { type: "number" } } },
    { options: { a: { type: "string", default: true } } },
    { options: { a: { type: "string", multiple: true, default: "x" } } },
    { options: { a: { type: "string", short: 1 } } },
  ]) {
    assertEquals(codeOf({ args: [], ...bad }), "ERR_INVALID_ARG_TYPE");
  }
  assertEquals(codeOf({ args: [], options: { a: { type: "string", short: "ab" } } }),
    "ERR_INVALID_ARG_VALUE");
});

test("JS_2 util.parseArgs: not strict takes everything", () => {
  const options = { bar: { type: "string" } };
  assertEquals(plain(parseArgs({
    args: ["x", "--zap", "--bar", "--foo=1", "-q", "--__proto__=1"], options, strict: false,
  })), { values: { zap: true, bar: "--foo=1", q: true }, positionals: ["x"] });
  assertEquals(plain(parseArgs({ args: ["--bar"], options, strict: false })).values, { bar: true });
});

test("JS_2 util.parseArgs: tokens", () => {
  const options = { foo: { type: "boolean", short: "f" }, bar: { type: "string", short: "b" } };
  const { tokens } = parseArgs({
    args: ["-fb", "1", "--bar=2", "x", "--", "-y"], options, allowPositionals: true, tokens: true,
  });
  assertEquals(tokens, [
    { kind: "option", name: "foo", rawName: "-f", index: 0, value: undefined, inlineValue: undefined },
    { kind: "option", name: "bar", rawName: "-b", index: 0, value: "1", inlineValue: false },
    { kind: "option", name: "bar", rawName: "--bar", index: 2, value: "2", inlineValue: true },
    { kind: "positional", index: 3, value: "x" },
    { kind: "option-terminator", index: 4 },
    { kind: "positional", index: 5, value: "-y" },
  ]);
});

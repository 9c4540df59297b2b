// util.parseArgs(): the options and positionals of a command line.
// https://nodejs.org/api/util.html#utilparseargsconfig
"use strict";

const { invalid } = load("events");

function requireType(value, name, type) {
  const fits = type === "array" ? Array.isArray(value)
    : type === "object" ? typeof value === "object" && value !== null && !Array.isArray(value)
      : typeof value === type;
  if (!fits) throw invalid(`The "${name}" argument must be of type ${type}`);
}

function checkOption(name, option) {
  const place = `options.${name}`;
  requireType(option, place, "object");
  const { type, short, multiple = false, default: preset } = option;
  if (type !== "string" && type !== "boolean") {
    throw invalid(`The "${place}.type" property must be one of: 'string', 'boolean'`);
  }
  if (Object.hasOwn(option, "short")) {
    requireType(short, `${place}.short`, "string");
    if (short.length !== 1) {
      throw invalid(`The property '${place}.short' must be a single character. ` +
        `Received '${short}'`, "ERR_INVALID_ARG_VALUE");
    }
  }
  requireType(multiple, `${place}.multiple`, "boolean");
  if (preset === undefined) return;
  if (multiple) requireType(preset, `${place}.default`, "array");
  for (const one of multiple ? preset : [preset]) requireType(one, `${place}.default`, type);
}

// How the words are interpreted: the name of each option, and whether it takes a value.
class Reader {
  #options;
  constructor(options) {
    this.#options = options;
  }
  own(name, property) {
    return Object.hasOwn(this.#options, name) ? this.#options[name][property] : undefined;
  }
  isString(name) {
    return this.own(name, "type") === "string";
  }
  longOf(short) {
    const found = Object.entries(this.#options).find(([, option]) => option.short === short);
    return found === undefined ? short : found[0];
  }

  tokens(args) {
    const tokens = [];
    const rest = [...args];
    let index = -1;
    let grouped = 0;  // words that one group of short options was expanded to
    const option = (name, rawName, value, inlineValue) =>
      tokens.push({ kind: "option", name, rawName, index, value, inlineValue });
    // The option's value may be the next word.
    const alone = (name, rawName) => {
      const takes = this.isString(name) && rest.length > 0;
      option(name, rawName, takes ? rest.shift() : undefined, takes ? false : undefined);
      if (takes) ++index;
    };
    while (rest.length > 0) {
      const word = rest.shift();
      if (grouped > 0) --grouped;
      else ++index;
      if (word === "--") {
        tokens.push({ kind: "option-terminator", index });
        for (const value of rest) tokens.push({ kind: "positional", index: ++index, value });
        break;
      }
      const isLong = word.startsWith("--");
      if (!word.startsWith("-") || word === "-") {
        tokens.push({ kind: "positional", index, value: word });
      } else if (isLong) {
        const equals = word.includes("=", 3) ? word.indexOf("=") : -1;
        if (equals < 0) alone(word.slice(2), word);
        else option(word.slice(2, equals), word.slice(0, equals), word.slice(equals + 1), true);
      } else if (word.length === 2) {
        alone(this.longOf(word[1]), word);
      } else if (this.isString(this.longOf(word[1]))) {
        option(this.longOf(word[1]), word.slice(0, 2), word.slice(2), true);
      } else {
        const expanded = this.expanded(word);
        rest.unshift(...expanded);
        grouped = expanded.length;
      }
    }
    return tokens;
  }

  // -abfFILE means -a -b -fFILE if f takes a value.
  expanded(word) {
    const words = [];
    for (let i = 1; i < word.length; i++) {
      if (i < word.length - 1 && this.isString(this.longOf(word[i]))) {
        words.push(`-${word.slice(i)}`);
        break;
      }
      words.push(`-${word[i]}`);
    }
    return words;
  }
}

function unknown(rawName, allowPositionals) {
  const hint = allowPositionals ? ". To specify a positional argument starting with a '-', place " +
    `it at the end of the command after '--', as in '-- ${JSON.stringify(rawName)}` : "";
  return invalid(`Unknown option '${rawName}'${hint}`, "ERR_PARSE_ARGS_UNKNOWN_OPTION");
}

function checkUsage(token, reader, { allowNegative, allowPositionals }) {
  const wrong = (message) => invalid(message, "ERR_PARSE_ARGS_INVALID_OPTION_VALUE");
  let { name } = token;
  if (reader.own(name, "type") === undefined) {
    name = allowNegative && name.startsWith("no-") ? name.slice(3) : undefined;
    if (name === undefined || reader.own(name, "type") !== "boolean") {
      throw unknown(token.rawName, allowPositionals);
    }
  }
  const short = reader.own(name, "short");
  const both = `${short === undefined ? "" : `-${short}, `}--${name}`;
  if (reader.isString(name) && typeof token.value !== "string") {
    throw wrong(`Option '${both} <value>' argument missing`);
  }
  if (!reader.isString(name) && token.value !== undefined) {
    throw wrong(`Option '${both}' does not take an argument`);
  }
  if (token.inlineValue || token.value === undefined || !/^-./s.test(token.value)) return;
  const example = token.rawName.startsWith("--") ? `'${token.rawName}=-XYZ'`
    : `'--${token.name}=-XYZ' or '${token.rawName}-XYZ'`;
  throw wrong(`Option '${token.rawName}' argument is ambiguous.\n` +
    `Did you forget to specify the option argument for '${token.rawName}'?\n` +
    `To specify an option argument starting with a dash use ${example}.`);
}

function store(values, { name, value }, reader, allowNegative) {
  if (name === "__proto__") return;
  const isNegated = allowNegative && name.startsWith("no-") && value === undefined;
  const key = isNegated ? name.slice(3) : name;
  const stored = isNegated ? false : value ?? true;
  if (!reader.own(key, "multiple")) values[key] = stored;
  else (values[key] ??= []).push(stored);
}

function parseArgs(config = {}) {
  requireType(config, "config", "object");
  const { options = {}, strict = true, tokens: wantsTokens = false, allowNegative = false } = config;
  const { args = load("process")["node:process"].argv.slice(2) } = config;
  const { allowPositionals = !strict } = config;
  requireType(args, "args", "array");
  requireType(options, "options", "object");
  for (const [name, value] of Object.entries({ strict, allowPositionals, allowNegative })) {
    requireType(value, name, "boolean");
  }
  requireType(wantsTokens, "tokens", "boolean");
  for (const name of Object.keys(options)) checkOption(name, options[name]);

  const reader = new Reader(options);
  const tokens = reader.tokens(args.map((one) => `${one}`));
  const values = { __proto__: null };
  const positionals = [];
  for (const token of tokens) {
    if (token.kind === "option") {
      if (strict) checkUsage(token, reader, { allowNegative, allowPositionals });
      store(values, token, reader, allowNegative);
    } else if (token.kind === "positional") {
      if (!allowPositionals) {
        throw invalid(`Unexpected argument '${token.value}'. This command does not take ` +
          "positional arguments", "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL");
      }
      positionals.push(token.value);
    }
  }
  for (const name of Object.keys(options)) {
    const preset = options[name].default;
    if (preset !== undefined && values[name] === undefined) values[name] = preset;
  }
  return wantsTokens ? { values, positionals, tokens } : { values, positionals };
}

return { parseArgs };

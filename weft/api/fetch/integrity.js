// The integrity of responses. https://w3c.github.io/webappsec-subresource-integrity/
//
// For other scripts, realm.fetching:
//     matchesIntegrity(bytes, metadata)    whether the bytes match the metadata

const { base64EncodeBytes, cryptoDigest } = native;
const { fetching } = realm;
const {
  ArrayPrototypePush, RegExpPrototypeExec, RegExpPrototypeSymbolReplace, StringPrototypeSplit,
  StringPrototypeToLowerCase,
} = realm.primordials;

// Ordered from weak to strong.
const algorithms = ["sha256", "sha384", "sha512"];
const hashes = { __proto__: null, sha256: "SHA-256", sha384: "SHA-384", sha512: "SHA-512" };

// https://w3c.github.io/webappsec-subresource-integrity/#parse-metadata-section; grouped by
// algorithm
function parseMetadata(metadata) {
  const parsed = { __proto__: null };
  const items = StringPrototypeSplit(
    RegExpPrototypeSymbolReplace(/[\t\n\f\r ]+/g, metadata, " "), " ");
  for (let i = 0; i < items.length; i++) {
    const match = RegExpPrototypeExec(/^(sha256|sha384|sha512)-([^?]*)/i, items[i]);
    if (match === null) continue;
    const algorithm = StringPrototypeToLowerCase(match[1]);
    parsed[algorithm] ??= [];
    ArrayPrototypePush(parsed[algorithm], comparable(match[2]));
  }
  return parsed;
}

// Both alphabets of base64 are accepted, and padding is ignored.
function comparable(base64) {
  const standard = RegExpPrototypeSymbolReplace(/[-_]/g, base64,
    (character) => (character === "-" ? "+" : "/"));
  return RegExpPrototypeSymbolReplace(/=+$/, standard, "");
}

// https://w3c.github.io/webappsec-subresource-integrity/#does-response-match-metadatalist
fetching.matchesIntegrity = (bytes, metadata) => {
  const parsed = parseMetadata(metadata);
  for (let i = algorithms.length - 1; i >= 0; i--) {
    const expected = parsed[algorithms[i]];
    if (expected === undefined) continue;
    // Only the strongest algorithm counts, because another one could be broken.
    const found = comparable(base64EncodeBytes(cryptoDigest(hashes[algorithms[i]], bytes)));
    for (let j = 0; j < expected.length; j++) {
      if (expected[j] === found) return true;
    }
    return false;
  }
  return true;
};

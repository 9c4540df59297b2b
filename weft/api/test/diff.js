// Compares the texts of two values line by line and marks the lines that only one of them has.
//
//     - Expected
//     + Received
//
//       {
//     -   name: 'ann',
//     +   name: 'bob',
//       }
"use strict";

const kLinesMax = 500;  // the table of the comparison has the square of this size
const kContext = 3;

const show = (value) => realm.inspect(value, {
  depth: 12, sorted: true, maxArrayLength: 1000, maxStringLength: 20_000, breakLength: 72,
});
// One property per line, so that a difference is a line.
const showLong = (value) => typeof value === "string" ? value : realm.inspect(value, {
  depth: 12, sorted: true, compact: false, maxArrayLength: 1000, maxStringLength: 20_000,
  breakLength: 1,
});

// The longest common subsequence of lines, by the usual table.
function changes(before, after) {
  const width = after.length + 1;
  const table = new Uint16Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; --i) {
    for (let j = after.length - 1; j >= 0; --j) {
      table[i * width + j] = before[i] === after[j] ? table[(i + 1) * width + j + 1] + 1
        : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push(`  ${before[i++]}`);
      ++j;
    } else if (j >= after.length ||
               (i < before.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) {
      lines.push(`- ${before[i++]}`);
    } else {
      lines.push(`+ ${after[j++]}`);
    }
  }
  return lines;
}

// Lines far from every change are left out.
function nearChanges(lines) {
  const near = lines.map((_, at) => lines
    .slice(Math.max(0, at - kContext), at + kContext + 1).some((line) => line[0] !== " "));
  const kept = [];
  for (let at = 0; at < lines.length; ++at) {
    if (near[at]) kept.push(lines[at]);
    else if (at === 0 || near[at - 1]) kept.push("  ...");
  }
  return kept;
}

function diffLines(expected, received) {
  const before = expected.split("\n");
  const after = received.split("\n");
  if (before.length > kLinesMax || after.length > kLinesMax) {
    const cut = (lines) => lines.slice(0, 20).join("\n");
    return `- Expected\n${cut(before)}\n+ Received\n${cut(after)}`;
  }
  return ["- Expected", "+ Received", "", ...nearChanges(changes(before, after))].join("\n");
}

// Empty if both values fit on one short line, because the message shows them already.
function diff(expected, received) {
  const long = [showLong(expected), showLong(received)];
  if (long[0] === long[1]) return "The two look alike, but are not equal.";
  if (!long[0].includes("\n") && !long[1].includes("\n")) return "";
  return diffLines(long[0], long[1]);
}

return { diff, diffLines, show, showLong };

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDuration, parseDuration } from "./duration.ts";
import { canonicalQuantity } from "./quantity.ts";

const cases: [string, string][] = [
  ["0", "0"],
  ["0Gi", "0"],
  ["100m", "100m"],
  ["1000m", "1"],
  ["1500m", "1500m"],
  ["0.5", "500m"],
  [".5", "500m"],
  ["1.5", "1500m"],
  ["1.500", "1.500"],
  ["128Mi", "128Mi"],
  ["100Mi", "100Mi"],
  ["1024Mi", "1Gi"],
  ["1536Mi", "1536Mi"],
  ["1.5Gi", "1536Mi"],
  ["0.5Ki", "512"],
  ["0.1Ki", "102400m"],
  ["1024", "1024"],
  ["10000", "10k"],
  ["100000k", "100M"],
  ["1e3", "1e3"],
  ["1000e3", "1e6"],
  ["-1000m", "-1"],
  ["1n", "1n"],
  ["0.1n", "1n"],
  ["99Ei", "9223372036854775807"],
  [" 5 ", "5"],
  ["010", "010"],
];
for (const [text, canonical] of cases) {
  test(`canonicalQuantity() turns ${JSON.stringify(text)} into ${canonical}`, () => {
    assert.equal(canonicalQuantity(text), canonical);
  });
}

for (const text of ["", "x", "1x", "1.2.3", "1e", "1e9999999", "--1", "1 Gi", "9".repeat(1000)]) {
  test(`canonicalQuantity() refuses ${JSON.stringify(text.slice(0, 20))}`, () => {
    assert.throws(() => canonicalQuantity(text));
  });
}

for (const [text, canonical] of [
  ["60s", "1m0s"],
  ["1h15m30.5s", "1h15m30.5s"],
  ["0", "0s"],
  ["1.5ms", "1.5ms"],
  ["1500us", "1.5ms"],
  ["-1.5h", "-1h30m0s"],
  ["25ns", "25ns"],
  ["24h", "24h0m0s"],
] as const) {
  test(`a duration of ${text} is written ${canonical}`, () => {
    assert.equal(formatDuration(parseDuration(text)), canonical);
  });
}

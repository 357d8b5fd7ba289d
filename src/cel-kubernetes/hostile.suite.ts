import assert from "node:assert/strict";
import { bindingLibrary } from "#cel/library/optionals.ts";
import { valueFor } from "#cel/values/data.ts";
import { kubernetesEnvironment } from "./environment.ts";
import { declareSchema } from "./schema-type.ts";

/** Expressions that try to take more time or memory than their cost says. Each would run for minutes if nothing stopped it. */
const declared = declareSchema(
  {
    type: "object",
    properties: {
      texts: { type: "array", items: { type: "string" } },
      numbers: { type: "array", items: { type: "integer" } },
      labels: { type: "object", additionalProperties: { type: "string" } },
      content: { type: "string", format: "byte" },
    },
  },
  "self",
);
assert(declared);
const count = 100_000;
const data = {
  texts: Array.from({ length: count }, (_, index) => `text${index}`),
  numbers: Array.from({ length: count }, (_, index) => index),
  labels: Object.fromEntries(Array.from({ length: count / 2 }, (_, index) => [`key${index}`, ""])),
  content: "AAAA".repeat(count),
};
export const environment = kubernetesEnvironment().extend({
  libraries: [bindingLibrary],
  variables: { self: declared.type },
});
export const variables = new Map([["self", valueFor(declared.type, data)]]);

/** `x0` bound to a value, and every further variable to one that is made of the one before. */
function chain(
  length: number,
  start: string,
  next: (previous: string) => string,
  result: (last: string) => string,
): string {
  let source = result(`x${length}`);
  for (let index = length; index > 0; index--) source = `cel.bind(x${index}, ${next(`x${index - 1}`)}, ${source})`;
  return `cel.bind(x0, ${start}, ${source})`;
}
const twice = (name: string): string => `${name} + ${name}`;
const nested = (name: string): string => `[dyn(${name}), dyn(${name})]`;

/** These compile, and their evaluation has to be stopped. */
export const stopped: Readonly<Record<string, string>> = {
  "nested loops": "self.numbers.all(a, self.numbers.all(b, self.numbers.all(c, a + b + c >= 0)))",
  "lists of lists": "self.numbers.map(a, self.numbers.map(b, [a, b]))",
  "a text that doubles": chain(40, "'aaaaaaaa'", twice, (last) => `${last}.size() > 0`),
  "a loop over a list that doubled": chain(40, "[1, 2]", twice, (last) => `${last}.all(x, x > 0)`),
  "comparing a list that doubled": chain(40, "[1, 2]", twice, (last) => `${last} == ${last} + [1]`),
  "comparing lists that share their parts": chain(
    40,
    "[dyn(1)]",
    nested,
    (last) => `[${last}].indexOf(${last} + [1]) == 0`,
  ),
  "text of lists that share their parts": chain(40, "[dyn(1)]", nested, (last) => `'%s'.format([${last}])`),
  "replacements that multiply":
    "self.texts[0].replace('', self.texts.join('')).replace('', self.texts.join('')).size() > 0",
  "joining the same texts again": "self.texts.map(x, self.texts.join('aaaaaaaaaaaaaaaa')).join('')",
  "sorting a long list": "self.texts.sort()[0] == ''",
  "sets of long lists": "sets.contains(self.texts, self.texts)",
  "a range without end": "lists.range(9000000000).size() > 0",
  "searching for every element": "self.numbers.all(x, x in self.numbers)",
  "a pattern for every element": "self.texts.exists(x, x.matches(x + '[a-z]{900}'))",
  "a large pattern for a long text": "self.texts.join('').matches('[a-z0-9]{900}z')",
  "matches that look ahead to the end": "self.texts.join('a').findAll('a.*z|a').size() > 0",
  "a long text that is no URL": "[self.texts.join('')].all(text, self.numbers.all(x, !isURL(text)))",
  "counting a long text again": "[self.texts.join('')].all(text, self.numbers.all(x, text.size() > 0))",
  "listing many keys again": "self.numbers.all(x, self.labels.exists(key, true))",
  "decoding the same bytes again": "self.numbers.all(x, self.content.size() > 0)",
  "copying a large map": "self.numbers.map(x, self.labels.transformMap(key, value, value)).size() > 0",
  "time zones that do not exist": "self.texts.exists(x, timestamp('2020-01-01T00:00:00Z').getHours(x) > 0)",
};

/** These do not compile. */
export const refused: Readonly<Record<string, readonly [source: string, message: RegExp]>> = {
  "deep parentheses": [`${"(".repeat(5000)}1${")".repeat(5000)}`, /recursion limit exceeded/],
  "deep lists": ["[".repeat(5000), /recursion limit exceeded/],
  "a long sum": [`1${"+1".repeat(40_000)}`, /recursion limit exceeded/],
  "a long path": [`self${".a".repeat(40_000)}`, /recursion limit exceeded/],
  "many elements": [`[${"1,".repeat(45_000)}1]`, /node limit exceeded/],
  "macros that copy their operand": [`optional.of(1)${".optMap(x, x)".repeat(30)}`, /node limit exceeded/],
  "types that double": [
    chain(
      30,
      "1",
      (name) => `{${name}: ${name}}`,
      (last) => last,
    ),
    /type has more than 2000 parts/,
  ],
  "a text that is too long": [`'${"a".repeat(100_000)}'`, /code point size exceeds limit/],
  "a pattern that is too large": [`'a'.matches('${"a{1000}".repeat(100)}')`, /invalid matches argument/],
  "many patterns that are large together": [
    `[${Array.from({ length: 1500 }, (_, index) => `'a'.matches('a{500}${index}')`).join()}]`,
    /the patterns of the expression are too large together/,
  ],
  "characters that are no tokens": ["$".repeat(99_999), /token recognition error at: '\$'/],
  "many wrong names": [`[${"y,".repeat(5000)}y]`, /more errors were truncated/],
};

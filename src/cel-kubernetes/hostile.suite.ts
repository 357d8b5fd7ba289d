import assert from "node:assert/strict";
import { bindingLibrary } from "#cel/library/optionals.ts";
import { valueFor } from "#cel/values/data.ts";
import { kubernetesEnvironment } from "./environment.ts";
import { declareSchema } from "./schema-type.ts";

/**
 * Expressions that try to take more time or memory than their cost says. Each would run for seconds or minutes if nothing
 * stopped it. The data is as large as the server accepts: 10,000 items of a list, 20,000 values of an object, 3 MiB.
 */
const text = { type: "string" } as const;
const map = { type: "object", additionalProperties: text } as const;
const nested = { type: "object", properties: { a: { type: "object", properties: { b: text } } } } as const;
const declared = declareSchema(
  {
    type: "object",
    properties: {
      texts: { type: "array", items: text },
      numbers: { type: "array", items: { type: "integer" } },
      objects: { type: "array", items: nested },
      times: { type: "array", items: { type: "string", format: "date-time" } },
      names: { type: "array", "x-kubernetes-list-type": "set", items: text },
      labels: map,
      long: text,
      wide: text,
      content: { type: "string", format: "byte" },
    },
  },
  "self",
);
assert(declared);
const count = 10_000;
const list = <T>(make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));
const createData = () => ({
  texts: list((index) => `text${index}`),
  numbers: list((index) => index),
  objects: list((index) => ({ a: { b: `${index}` } })),
  times: list((index) => new Date(1_600_000_000_000 + index * 1000).toISOString()),
  names: list((index) => `name${index}`),
  labels: Object.fromEntries(Array.from({ length: 2 * count }, (_, index) => [`key${index}`, ""])),
  long: "abcdefghij".repeat(250_000),
  wide: "äöü€😀".repeat(100_000),
  content: "AAAA".repeat(600_000),
});
export const environment = kubernetesEnvironment().extend({
  libraries: [bindingLibrary],
  variables: { self: declared.type, oldSelf: declared.type },
});
export const variables = new Map([
  ["self", valueFor(declared.type, createData())],
  ["oldSelf", valueFor(declared.type, createData())],
]);

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
const paired = (name: string): string => `[dyn(${name}), dyn(${name})]`;

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
    paired,
    (last) => `[${last}].indexOf(${last} + [1]) == 0`,
  ),
  "text of lists that share their parts": chain(40, "[dyn(1)]", paired, (last) => `'%s'.format([${last}])`),
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

/** A test for every pair of elements of a list. */
const pairs = (name: string, test: string): string => `self.${name}.all(x, self.${name}.all(y, ${test}))`;
/** The same work for every number. */
const again = (test: string): string => `self.numbers.all(x, ${test})`;

/** These are stopped too. They use functions that take far longer than they cost. */
export const slow: Readonly<Record<string, string>> = {
  "loops with two variables": "self.texts.all(i, v, self.texts.all(j, w, i != j || v == w))",
  "loops over maps with two variables": "self.labels.all(k, v, self.labels.all(l, w, k != l || v == w))",
  "lists of lists with two variables":
    "self.texts.transformList(i, v, self.texts.transformList(j, w, v + w)).size() > 0",
  "counting matches": "self.numbers.exists_one(x, self.numbers.exists_one(y, x == y))",
  "filters in filters": "self.numbers.filter(x, self.numbers.filter(y, x == y).size() > 0).size() > 0",
  "keys of several large maps": "self.labels.all(key, key in oldSelf.labels) && oldSelf.labels.all(key, true)",
  "comparing large maps again": again("self.labels == oldSelf.labels"),
  "comparing large objects again": again("self == oldSelf"),
  "comparing sets again": again("self.names == oldSelf.names"),
  "comparing long texts again": again("self.long in [oldSelf.long, 'a']"),
  "a long text as a key": again("{oldSelf.long: 1}[self.long] == 1"),
  "comparing long bytes again": again("self.content in [oldSelf.content]"),
  "sorting long texts": again("[self.long + 'b', oldSelf.long + 'a'].sort().size() > 0"),
  "sorting again": again("self.numbers.sort().size() > 0"),
  "asking whether a list is sorted": again("!self.texts.isSorted()"),
  "searching a list for each of its texts": "self.texts.all(x, self.texts.indexOf(x) >= 0)",
  "the largest text again": again("self.texts.max() != ''"),
  "reversing again": again("self.numbers.reverse().size() > 0"),
  "flattening long lists": "self.texts.map(x, self.numbers).flatten().size() > 0",
  "distinct lists": "self.texts.map(x, [x]).distinct().size() > 0",
  "sets of small lists": "sets.contains(self.texts.slice(0, 900).map(x, [x]), self.texts.slice(0, 900).map(x, [x]))",
  "optional fields in loops": pairs("objects", "x.?a.?b.orValue('') != y.?a.?b.orValue('') || true"),
  "fields in loops": pairs("objects", "has(y.a.b)"),
  "times in loops": pairs("times", "x <= y || x > y"),
  "types in loops": pairs("numbers", "type(x) == int"),
  "values of any type in loops": pairs("numbers", "dyn(x) != dyn('a')"),
  "large numbers in loops": pairs("numbers", "9223372036854775807 - x - y > 0"),
  "texts of numbers in loops": pairs("numbers", "string(x) != 'a'"),
  "texts that are joined in loops": pairs("texts", "x + y != ''"),
  "numbers with many digits": again("'%.100e'.format([1.5e300]).size() > 0 && '%.1000f'.format([1.5e300]).size() > 0"),
  "characters of a wide text": again("self.wide.charAt(x) != ''"),
  "parts of a wide text": again("self.wide.substring(x, 400000).size() > 0"),
  "replacing in a long text": again("self.long.replace('a', 'b').size() > 0"),
  "splitting a long text": again("self.long.split('zz').size() > 0"),
  "every character of a long text": "self.long.split('').size() > 0",
  "searching a long text": again("self.long.lastIndexOf('zzz') < 0"),
  "trimming a long text": again("self.long.trim() != ''"),
  "matching a long text": again("!self.long.matches('(a|b|c|d)*z')"),
  "matching many texts": again("self.texts.all(y, y.matches('^[a-z]+[0-9]+$'))"),
  "quantities in loops": pairs("numbers", "quantity('1' + string(x) + 'Mi').isGreaterThan(quantity('1'))"),
  "addresses in loops": pairs("numbers", "!isIP('2001:db8::' + string(x)) || true"),
  "address ranges in loops": pairs(
    "numbers",
    "cidr('2001:db8::/32').containsCIDR('2001:db8:' + string(y % 99) + '::/48')",
  ),
  "versions in loops": pairs("numbers", "semver('1.2.' + string(x)).isGreaterThan(semver('1.0.0'))"),
  "URLs in loops": pairs("texts", "isURL('https://' + x + '.com/a?b=c')"),
  "queries in loops": pairs("texts", "url('https://a.com/?a=b&' + x).getQuery().size() > 0"),
  "a message from everything": "self.labels.map(key, key + self.texts.join(', ') + self.long).join('')",
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

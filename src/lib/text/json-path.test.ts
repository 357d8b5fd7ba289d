import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonPathFault } from "./json-path.ts";

const sound = [
  "{spec.validations[0].expression}",
  "{.a['b.c'][1:2:-1][*][]}",
  "{..name} and {.x}",
  "{.items[?(@.price > 10)].name}",
  "{.items[?(@.name==')')]}",
  "{.a[1,'b', 2]}",
  '{"quoted \\u00e9\\""}',
  "{.a\\.b}",
  "{range .items}{end}",
  "plain text",
];
for (const path of sound) {
  test(`jsonPathFault() accepts ${path}`, () => assert.equal(jsonPathFault(path), undefined));
}

const broken: readonly [path: string, fault: string][] = [
  ["{.a", "unclosed action"],
  ["{.a\n}", "unclosed action"],
  ["{.a=}{=}", "unrecognized character in action: U+003D '='"],
  ["{.a[0}", "unterminated array"],
  ["{.a[b]}", "invalid array index b"],
  ["{.a[1,b]}", "invalid array index b"],
  ["{.a[-]}", "array index - is not a number"],
  ["{.....a}", "invalid multiple recursive descent"],
  ["{1.2.3}", "cannot parse number 1.2.3"],
  ["{'a}", "unterminated quoted string"],
  ["{'\\q'}", "unquote string '\\q' error invalid syntax"],
  ["{.a[?(@.b==1}", "unterminated filter"],
  ["{.a[?(@.b==1)}", "unclosed array expect ]"],
  ["{.a[?(@.b==[)]}", "unterminated array"],
];
for (const [path, fault] of broken) {
  test(`jsonPathFault() refuses ${JSON.stringify(path)}`, () => assert.equal(jsonPathFault(path), fault));
}

test("jsonPathFault() does not follow paths within paths without end", () => {
  const deep = `{${"[?(".repeat(10_000)}'${")]".repeat(10_000)}'${")]".repeat(10_000)}}`;

  assert.ok(jsonPathFault(deep));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { extraValues, hasHeaderStartingWith, headersStartingWith, headerValues } from "./header-values.ts";

const request = {
  headers: { "x-group": "a, b,c", "x-extra-team": "one", "x-extra-%74eam": "two" },
  rawHeaders: ["X-Group", "a, b", "x-extra-Team", "one", "x-group", "c", "X-Extra-%74eam", "two", "X-Gone", "v"],
};

test("headerValues() keeps the commas of a value", () => {
  assert.deepEqual(headerValues(request, "x-group"), ["a, b", "c"]);
  assert.deepEqual(headerValues({ headers: request.headers }, "x-group"), ["a, b,c"]);
  // It was removed from the request, whatever was sent.
  assert.deepEqual(headerValues(request, "x-gone"), []);
});

test("headersStartingWith() has the values of every header of that beginning", () => {
  assert.deepEqual(
    [...headersStartingWith(request, "x-")],
    [
      ["x-group", ["a, b", "c"]],
      ["x-extra-team", ["one"]],
      ["x-extra-%74eam", ["two"]],
    ],
  );
  assert.deepEqual([...headersStartingWith({ headers: request.headers }, "x-g")], [["x-group", ["a, b,c"]]]);
});

test("hasHeaderStartingWith() finds a header whatever its case, and wherever it stands", () => {
  for (const name of ["impersonate-user", "Impersonate-Uid", "IMPERSONATE-EXTRA-team"]) {
    const sent = { headers: { [name.toLowerCase()]: "jane" }, rawHeaders: [":path", "/", name, "jane"] };
    assert(hasHeaderStartingWith(sent, "impersonate-"), name);
    assert(hasHeaderStartingWith({ headers: sent.headers }, "impersonate-"), name);
  }
  for (const name of ["imperson", "x-impersonate-user", "if-match", ")mpersonate-user", ""]) {
    const sent = { headers: { [name]: "impersonate-" }, rawHeaders: [name, "impersonate-user"] };
    assert(!hasHeaderStartingWith(sent, "impersonate-"), name);
    assert(!hasHeaderStartingWith({ headers: sent.headers }, "impersonate-"), name);
  }
});

test("extraValues() joins names that mean the same key", () => {
  assert.deepEqual([...extraValues(headersStartingWith(request, "x-"), "x-extra-")], [["team", ["one", "two"]]]);
});

test("headersStartingWith() reads each of thousands of headers once", () => {
  const names = Array.from({ length: 2000 }, (_, n) => `impersonate-extra-${n}`);
  let reads = 0;
  const rawHeaders = new Proxy(
    names.flatMap((name) => [name, "v"]),
    {
      get(target, key) {
        if (/^\d+$/.test(String(key))) reads++;
        return Reflect.get(target, key) as unknown;
      },
    },
  );
  const headers = Object.fromEntries(names.map((name) => [name, "v"]));
  assert.equal(headersStartingWith({ headers, rawHeaders }, "impersonate-").size, names.length);
  assert.equal(reads, rawHeaders.length);
});

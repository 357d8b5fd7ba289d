import assert from "node:assert/strict";
import { test } from "node:test";
import { answerHeaders, type CorsFilter, isPreflight, planCors, preflightHeaders } from "./cors.ts";

const headerOf = (headers: Record<string, string>) => (name: string) => headers[name];
const textOf = (all: readonly { name: string; value: string }[]): string[] =>
  all.map(({ name, value }) => `${name.replace("access-control-", "")}: ${value}`);
const answerTo = (filter: CorsFilter, origin: string): string[] =>
  textOf(answerHeaders(planCors(filter), headerOf({ origin })));

const origins: [allowed: string, origin: string, isAllowed: boolean][] = [
  ["https://a.example", "https://a.example", true],
  ["https://a.example", "https://a.example:443", true],
  ["https://a.example", "https://A.Example", true],
  ["https://a.example", "http://a.example", false],
  ["https://a.example", "https://a.example:8443", false],
  ["http://a.example:8080", "http://a.example:8080", true],
  ["https://*.example", "https://a.example", true],
  ["https://*.example", "https://a.b.example", true],
  ["https://*.example", "https://example", false],
  ["https://*.example", "https://.example", false],
  ["https://*.example", "https://evil.test#.example", false],
  ["https://*.example", "https://evil.test/.example", false],
  ["https://*.example", "https://user@a.example", false],
  ["https://*", "https://anything.test", true],
  ["https://*", "https://[::1]", true],
  ["https://*", "http://anything.test", false],
  ["https://a.example", "null", false],
  ["https://a.example", "https://*", false],
  ["https://a.example", `https://${"a".repeat(10_000)}`, false],
];
for (const [allowed, origin, isAllowed] of origins) {
  test(`pages of ${origin.slice(0, 40)} ${isAllowed ? "may" : "may not"} use a route for ${allowed}`, () => {
    const expected = isAllowed ? [`allow-origin: ${origin}`] : [];
    assert.deepEqual(answerTo({ allowOrigins: [allowed] }, origin), expected);
  });
}

test("a route without origins is for nobody else's pages", () => {
  assert.deepEqual(answerTo({}, "https://a.example"), []);
});

test("every origin is a star, or the page's own with credentials", () => {
  const all = { allowOrigins: ["*"], exposeHeaders: ["*"] };

  assert.deepEqual(answerTo(all, "https://a.example"), ["allow-origin: *", "expose-headers: *"]);
  assert.deepEqual(answerTo({ ...all, allowCredentials: true }, "null"), [
    "allow-origin: null",
    "allow-credentials: true",
  ]);
});

test("only OPTIONS with an origin and a method is a question before the request", () => {
  const whole = { origin: "https://a.example", "access-control-request-method": "PUT" };

  assert.equal(isPreflight("OPTIONS", headerOf(whole)), true);
  assert.equal(isPreflight("PUT", headerOf(whole)), false);
  assert.equal(isPreflight("OPTIONS", headerOf({ origin: "https://a.example" })), false);
});

test("a preflight learns methods, headers and how long that is so", () => {
  const asked = headerOf({
    origin: "https://a.example",
    "access-control-request-method": "PUT",
    "access-control-request-headers": "X-One,x-two",
  });
  const answer = (filter: CorsFilter) => textOf(preflightHeaders(planCors(filter), asked));
  const every = { allowOrigins: ["*"], allowMethods: ["*"], allowHeaders: ["*"] };

  assert.deepEqual(
    answer({ allowOrigins: ["https://a.example"], allowMethods: ["PUT", "GET"], allowHeaders: ["x-one"], maxAge: 60 }),
    ["allow-origin: https://a.example", "allow-methods: PUT, GET", "allow-headers: x-one", "max-age: 60"],
  );
  assert.deepEqual(answer({ allowOrigins: ["*"] }), ["allow-origin: *", "max-age: 5"]);
  assert.deepEqual(answer(every), ["allow-origin: *", "allow-methods: *", "allow-headers: *", "max-age: 5"]);
  assert.deepEqual(answer({ ...every, allowCredentials: true }), [
    ...["allow-origin: https://a.example", "allow-credentials: true"],
    ...["allow-methods: PUT", "allow-headers: X-One, x-two", "max-age: 5"],
  ]);
  assert.deepEqual(answer({ allowOrigins: ["https://b.example"] }), []);
});

test("what is no list of headers is not repeated", () => {
  const rule = planCors({ allowOrigins: ["*"], allowHeaders: ["*"], allowCredentials: true });
  for (const hostile of ["a b", "x\r\nset-cookie: a=b", "a,".repeat(5_000), ""]) {
    const asked = { origin: "https://a.example", "access-control-request-headers": hostile };
    assert(!textOf(preflightHeaders(rule, headerOf(asked))).some((text) => text.startsWith("allow-headers")));
  }
});

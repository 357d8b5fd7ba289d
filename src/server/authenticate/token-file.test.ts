import assert from "node:assert/strict";
import { test } from "node:test";
import { loadTokenFile, parseTokenFile } from "./token-file.ts";

const badTokenFiles = [
  { text: "a,b", says: "t.csv:1: must have at least 3 columns (token, user name, user uid), found 2" },
  { text: "a,b,c\n\n,x,1", says: "t.csv:3: the token is empty" },
  { text: "a,,c", says: "t.csv:1: the user name is empty" },
  { text: "a,b,c\na,d,e", says: "t.csv:2: the token is also in an earlier line" },
  { text: 'a,b,c,"x', says: "t.csv:1: a quote is not closed or is in the middle of a field" },
];

for (const { text, says } of badTokenFiles) {
  test(`a token file is refused: ${says}`, () => {
    assert.throws(() => parseTokenFile(text, "t.csv"), { message: says });
  });
}

test("a token file that cannot be read is reported by its path", async () => {
  await assert.rejects(
    loadTokenFile("/nowhere/tokens.csv"),
    /cannot read the token file \/nowhere\/tokens.csv \(ENOENT/,
  );
});

test("parseTokenFile() reads quoted groups, and skips blank lines and comments", () => {
  const users = parseTokenFile('# staff\n\nt1,"o""neil",7,"a,b"\r\nt2,max,\n', "t.csv");

  assert.deepEqual(users.get("t1"), { name: 'o"neil', uid: "7", groups: ["a", "b"] });
  assert.deepEqual(users.get("t2"), { name: "max", groups: [] });
});

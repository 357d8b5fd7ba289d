import assert from "node:assert/strict";
import { test } from "node:test";
import { type AdmissionPlugin } from "../plugin.ts";
import { choosePlugins } from "./choose-plugins.ts";

const plugin = (name: string, runs?: "always" | "asked"): AdmissionPlugin => ({
  name,
  appliesTo: () => true,
  ...(runs ? { runs } : {}),
});
const all = [plugin("Usual"), plugin("Rare", "asked"), plugin("Fixed", "always"), plugin("Other")];
const chosen = (choice?: Parameters<typeof choosePlugins>[1]) => choosePlugins(all, choice).map(({ name }) => name);

test("choosePlugins() turns plugins on and off, and keeps their order", () => {
  assert.deepEqual(chosen(), ["Usual", "Fixed", "Other"]);
  assert.deepEqual(chosen({ enable: ["Other", "Rare"] }), ["Usual", "Rare", "Fixed", "Other"]);
  assert.deepEqual(chosen({ disable: ["Usual", "Rare"] }), ["Fixed", "Other"]);
});

test("choosePlugins() refuses what it cannot do, in one line", () => {
  assert.throws(() => chosen({ enable: ["Typo"] }), {
    name: "PluginChoiceError",
    message: '--enable-admission-plugins: there is no plugin "Typo": choose from Other, Rare, Usual',
  });
  assert.throws(() => chosen({ disable: ["Fixed"] }), {
    message: '--disable-admission-plugins: there is no plugin "Fixed": choose from Other, Rare, Usual',
  });
  assert.throws(() => chosen({ enable: ["Usual"], disable: ["Usual"] }), {
    message: "Usual is in both --enable-admission-plugins and --disable-admission-plugins: remove it from one",
  });
});

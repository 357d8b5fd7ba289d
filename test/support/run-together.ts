/**
 * Runs the test files that are named as arguments in this process. `node --test` would follow every promise: it starts
 * before quiet-promises.ts is loaded.
 */
import { run } from "node:test";
import { spec } from "node:test/reporters";

const events = run({ files: process.argv.slice(2), isolation: "none" });
events.on("test:fail", () => {
  process.exitCode = 1;
});
events.compose(new spec()).pipe(process.stdout);

/**
 * The process of one attack. Its CPU and memory do not count as the server's, and an attack that hangs is killed with it.
 * It reports when it is prepared, attacks on command, and reports the outcome.
 */
import { once } from "node:events";
import { type Attack } from "./attack.ts";
import { type AttackerReport, type AttackOrder, openTarget } from "./target.ts";

const { name, facts, seconds } = JSON.parse(process.argv[2] ?? "{}") as AttackOrder;
const { attack } = (await import(`./${name}.ts`)) as { attack: Attack };
const report = (message: AttackerReport): void => void process.send?.(message);

using target = openTarget(facts);
await attack.prepare?.(target);
report({ type: "prepared", claim: attack.claim });
await once(process, "message");
try {
  const outcome = await attack.run(target, AbortSignal.timeout(seconds * 1000));
  report({ type: "over", outcome, holds: true });
} catch (error) {
  report({ type: "over", outcome: error instanceof Error ? error.message : String(error), holds: false });
}
await attack.cleanUp?.(target);
process.disconnect?.();

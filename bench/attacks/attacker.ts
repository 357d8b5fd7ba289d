/**
 * The process of one attack. Its own CPU and memory are not the server's, and an attack that hangs is ended with it.
 * It says when it is prepared, attacks when it is told to, and says what came of it.
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

import { renderExplanation } from "#cli/print/explanation.ts";
import { systemClock } from "#lib/async/clock.ts";
import { explain } from "#why/explain.ts";
import { gather } from "#why/gather.ts";
import { parseFlags } from "../command.ts";
import { connect, connectFlags } from "../connect.ts";
import { findKind, parseTarget } from "../target.ts";

export const flags = {
  ...connectFlags,
  json: { type: "boolean", default: false, help: "print the answer as JSON" },
} as const;

/** Says at which hop an object is stuck, and why. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  const { kind, name } = parseTarget(positionals, "why");
  await using connection = await connect(values);
  const { client, namespace } = connection;
  const resource = await findKind(client, kind);
  const explanation = explain(await gather(client, { resource, namespace, name }, systemClock.now()));
  process.stdout.write(values.json ? `${JSON.stringify(explanation, undefined, 2)}\n` : renderExplanation(explanation));
  return explanation.state === "NotFound" ? 1 : 0;
}

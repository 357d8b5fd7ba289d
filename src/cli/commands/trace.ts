import { groupResource, type Resource } from "#api/resource.ts";
import { renderWaterfall } from "#cli/print/waterfall.ts";
import { type Client } from "#client/client.ts";
import { type TraceAnswer } from "#trace/answers.ts";
import { parseFlags, UserError } from "../command.ts";
import { connect, connectFlags } from "../connect.ts";
import { readAnswer } from "../read-answer.ts";
import { findKind, parseTarget } from "../target.ts";

export const flags = {
  ...connectFlags,
  trace: { type: "string", value: "ID", default: "", help: "show this trace instead of the newest apply" },
  all: { type: "boolean", short: "a", default: false, help: "show every hop and every pod, including status updates" },
  json: { type: "boolean", default: false, help: "print the server's answer as JSON" },
} as const;

const defaultWidth = 140;

/** Shows the hops of the last apply of an object, with their times and causes. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  const { kind, name } = parseTarget(positionals, "trace");
  await using connection = await connect(values);
  const { client, namespace } = connection;
  const resource = await findKind(client, kind);
  const answer = await getTrace(client, { resource, namespace, name, traceId: values.trace });
  if (values.json) {
    process.stdout.write(`${JSON.stringify(answer, undefined, 2)}\n`);
    return 0;
  }
  if (answer.hops.length === 0) {
    const where = resource.scope === "Namespaced" ? ` in namespace ${namespace}` : "";
    const which = values.trace ? `no trace ${JSON.stringify(values.trace)}` : "no trace";
    throw new UserError(
      `${which} of ${resource.singular}/${name}${where}: the server keeps only the newest hops, and loses them when it restarts`,
    );
  }
  const width = process.stdout.columns ?? defaultWidth;
  process.stdout.write(`${renderWaterfall(answer, { width, all: values.all })}\n`);
  return 0;
}

interface TraceRequest {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly traceId: string;
}

function getTrace(client: Client, { resource, namespace, name, traceId }: TraceRequest): Promise<TraceAnswer> {
  const place = resource.scope === "Namespaced" ? namespace : "-";
  const path = [groupResource(resource, resource.plural), place, name].map(encodeURIComponent).join("/");
  const query = traceId ? `?trace=${encodeURIComponent(traceId)}` : "";
  return readAnswer<TraceAnswer>(client, `/orlop/trace/${path}${query}`);
}

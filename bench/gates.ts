/**
 * Prints what each gate adds to a create, in microseconds: `npm run bench -- gates`. Servers in this process, without sockets
 * and disk, take turns; each lacks one gate. Of all creates the quickest quarter counts, because the others shared the machine
 * or waited for the garbage collector.
 */
import { type AssembledServer, type AssembleOptions } from "#cluster/api-server.ts";
import { systemClock } from "#lib/async/clock.ts";
import { Auditor, type ServerAudit } from "#server/audit/auditor.ts";
import { scopesOf } from "#server/audit/policy.ts";
import { defaultInFlight } from "#server/flowcontrol/assemble.ts";
import { type Hop } from "#trace/hop.ts";
import { createPod, openServer } from "./lib/in-process.ts";

/** All gates together may add this much. */
const allowedUs = 60;

/** The plugins that have something to do for a pod. */
const pluginGroups: Readonly<Record<string, readonly string[]>> = {
  "namespace lifecycle": ["NamespaceLifecycle"],
  "service account": ["ServiceAccount"],
  "pod security": ["PodSecurity"],
  "limits and quotas": ["LimitRanger", "ResourceQuota"],
  "priority, tolerations, runtime class": ["Priority", "DefaultTolerationSeconds", "RuntimeClass"],
  "policies and webhooks": [
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
  ],
  "node restriction": ["NodeRestriction"],
};

const stages = ["authenticate", "authorize", "decode", "mutate", "validate", "admit"] as const;
type StageName = (typeof stages)[number];
type StageTimes = Readonly<Record<StageName, number>>;

interface Gate {
  readonly name: string;
  readonly us: number;
}

export async function runGates(args: readonly string[]): Promise<void> {
  const rounds = Number(args[0] ?? 30);
  const audit = new TimedAudit();
  const times = await timesOf(variants(audit), rounds);
  const gates = gatesOf((name) => times.get(name) ?? fail(name), audit.us);
  for (const { name, us } of gates) process.stdout.write(`${us.toFixed(1).padStart(8)}  ${name}\n`);
  const sum = gates.reduce((total, { us }) => total + us, 0);
  process.stdout.write(`${sum.toFixed(1).padStart(8)}  all gates, of ${allowedUs} allowed\n`);
}

function fail(name: string): never {
  throw new Error(`there is no server ${name}`);
}

function gatesOf(of: (name: string) => StageTimes, auditUs: number): Gate[] {
  const all = of("all");
  const admission = ({ mutate, admit }: StageTimes): number => mutate + admit;
  const plugins = Object.keys(pluginGroups).map((name) => ({
    name: `admission: ${name}`,
    us: admission(all) - admission(of(name)),
  }));
  const others = plugins.reduce((rest, { us }) => rest - us, admission(all));
  const fairness = all.authorize - of("fairness").authorize;
  return [
    { name: "authentication, with the start of the request", us: all.authenticate },
    { name: "priority and fairness", us: fairness },
    { name: "authorisation, with impersonation and limits", us: all.authorize - fairness },
    { name: "audit of metadata, if it is configured", us: auditUs },
    ...plugins,
    { name: "admission: the chain and other plugins", us: others },
    { name: "validation", us: all.validate },
  ];
}

/** The options of each server. All but `all` and `audit` lack the gate that they are named after. */
function variants(audit: TimedAudit): ReadonlyMap<string, Partial<AssembleOptions>> {
  const options = new Map<string, Partial<AssembleOptions>>([
    ["all", {}],
    ["fairness", { inFlight: { ...defaultInFlight, isFair: false } }],
    ["audit", { audit: audit.open }],
  ]);
  for (const [name, disable] of Object.entries(pluginGroups)) options.set(name, { admission: { disable } });
  return options;
}

/** Records what goes nowhere, and how long the two parts of that took for each request. */
class TimedAudit {
  readonly #before: number[] = [];
  readonly #after: number[] = [];

  get us(): number {
    const measured = (us: number[]): number => quickest(us.slice(warmUpRounds * batch));
    return measured(this.#before) + measured(this.#after);
  }

  readonly open: AssembleOptions["audit"] = (metrics) => {
    const nowhere = { name: "nowhere", process: () => true, async [Symbol.asyncDispose]() {} };
    const scopeOf = scopesOf({ rules: [{ level: "Metadata" }] });
    const auditor = new Auditor({ scopeOf, backends: [nowhere], clock: systemClock, metrics });
    const { stage } = auditor;
    const serve = auditor.serve.bind(auditor);
    const timed: Pick<ServerAudit, "stage" | "serve"> = {
      stage: (context, next) => {
        const start = performance.now();
        return stage(context, (same) => {
          this.#before.push((performance.now() - start) * 1000);
          return next(same);
        });
      },
      serve: (context, answer, wire) => {
        const start = performance.now();
        const served = serve(context, answer, wire);
        this.#after.push((performance.now() - start) * 1000);
        return served;
      },
    };
    return Object.assign(auditor, timed);
  };
}

const batch = 100;
const warmUpRounds = 20;

async function timesOf(
  options: ReadonlyMap<string, Partial<AssembleOptions>>,
  rounds: number,
): Promise<ReadonlyMap<string, StageTimes>> {
  await using opened = new AsyncDisposableStack();
  const servers = new Map<string, AssembledServer>();
  for (const [name, option] of options) servers.set(name, opened.use(await openServer(option)).api);
  for (let round = -warmUpRounds; round < rounds; round++) {
    const prefix = round < 0 ? `warm-${-round}` : `pod-${round}`;
    for (const api of servers.values()) {
      for (let n = 0; n < batch; n++) await createPod(api, `${prefix}-${n}`);
    }
  }
  return new Map([...servers].map(([name, { recorder }]) => [name, stageTimes(recorder.all())]));
}

/** The recorder keeps every write with its steps in order. A write's first `schema` step is the decoding. */
function stageTimes(hops: Iterable<Hop>): StageTimes {
  const times = new Map<StageName, number[]>(stages.map((stage) => [stage, []]));
  let isMeasured = false;
  let isDecoded = false;
  for (const { hop, object, durationMs } of hops) {
    if (hop === "client") {
      isMeasured = object?.name.startsWith("pod-") ?? false;
      isDecoded = false;
    } else if (isMeasured) {
      const stage = hop === "schema" ? (isDecoded ? "validate" : "decode") : (hop as StageName);
      if (stage === "decode") isDecoded = true;
      times.get(stage)?.push(durationMs * 1000);
    }
  }
  const entries = [...times].map(([stage, us]) => [stage, quickest(us)] as const);
  return Object.fromEntries(entries) as Record<StageName, number>;
}

/** The slowest of the quickest quarter. */
const quickest = (us: readonly number[]): number => us.toSorted((a, b) => a - b)[us.length >> 2] ?? 0;

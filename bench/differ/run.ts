/**
 * `npm run bench -- differ --upstream KUBECONFIG`: sends the same generated requests to another API server and to ours, and
 * shows where the answers differ. The other server needs nothing but an administrator's kubeconfig, and no controllers.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { startControlPlane } from "#cluster/control-plane.ts";
import { systemClock } from "#lib/async/clock.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { compareAnswers } from "./compare.ts";
import { decodeAnswer } from "./decode.ts";
import { planAll } from "./plan.ts";
import { type Finding, renderTally } from "./report.ts";
import { type Known, knownFrom, Session } from "./session.ts";
import { type Script, type Step } from "./step.ts";

export async function runDiffer(args: readonly string[]): Promise<void> {
  const { values: flags } = parseArgs({
    args: [...args],
    options: {
      upstream: { type: "string" },
      seed: { type: "string", default: "1" },
      "per-kind": { type: "string", default: "300" },
      only: { type: "string", default: "" },
      show: { type: "string", default: "40" },
      json: { type: "string" },
    },
  });
  if (!flags.upstream) throw new Error("--upstream must name the kubeconfig of the other server");
  await using ours = await startOurs();
  const label = `d${Date.now().toString(36)}`;
  const scripts = planAll({ seed: Number(flags.seed), perKind: Number(flags["per-kind"]), label });
  // Only now: planning takes a while, in which a handshake would time out.
  using pair = await Pair.open(flags.upstream, ours.kubeconfig);
  const [prepare, ...rest] = scripts;
  await pair.checkUsers();
  if (prepare) await pair.run(prepare);
  if (pair.findings.some(({ difference }) => difference.kind.startsWith("code")))
    throw new Error(`the servers cannot be prepared: ${renderTally(pair, 9)}`);
  await inParallel(
    rest.filter(({ name }) => new RegExp(flags.only).test(name)),
    4,
    (script) => pair.run(script),
  );
  process.stdout.write(renderTally(pair, Number(flags.show)));
  if (flags.json) writeFileSync(flags.json, JSON.stringify(pair.findings, undefined, 1));
}

/** Our API server without controllers, on a free port. */
async function startOurs() {
  const dataDir = mkdtempSync(path.join(tmpdir(), "orlop-differ-"));
  const plane = await startControlPlane({
    dataDir,
    host: "127.0.0.1",
    port: 0,
    store: "memory",
    clock: systemClock,
    log: silentLog,
    random: seededRandom(1),
  });
  return {
    kubeconfig: plane.kubeconfigPath,
    async [Symbol.asyncDispose]() {
      await plane[Symbol.asyncDispose]();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The two servers, and what was found so far. */
class Pair implements Disposable {
  readonly findings: Finding[] = [];
  requests = 0;
  readonly #upstream: Session;
  readonly #ours: Session;

  private constructor(upstream: Session, ours: Session) {
    this.#upstream = upstream;
    this.#ours = ours;
  }

  static async open(upstream: string, ours: string): Promise<Pair> {
    return new Pair(await Session.open(upstream), await Session.open(ours));
  }

  /** Answers name the user, so both servers must know the same one. */
  async checkUsers(): Promise<void> {
    const step: Step = {
      name: "who",
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    };
    const answers = await Promise.all([this.#upstream, this.#ours].map((session) => session.send(step, new Map())));
    const [theirs, mine] = answers.map(({ body }) => userIn(body));
    if (theirs !== mine) throw new Error(`the kubeconfig must be that of ${mine}, not of ${theirs}`);
  }

  async run({ name, steps, readOnly = [], after = [] }: Script): Promise<void> {
    const known = { upstream: new Map<string, Known>(), ours: new Map<string, Known>() };
    for (const step of steps) await this.#send(name, step, known);
    await inParallel(readOnly, 8, (step) => this.#send(name, step, known));
    for (const step of after) await this.#send(name, step, known);
  }

  async #send(script: string, step: Step, known: Record<"upstream" | "ours", Map<string, Known>>): Promise<void> {
    this.requests++;
    const [upstream, ours] = await Promise.all([
      this.#upstream.send(step, known.upstream),
      this.#ours.send(step, known.ours),
    ]);
    known.upstream.set(step.name, knownFrom(upstream));
    known.ours.set(step.name, knownFrom(ours));
    if (step.name === "wait") return;
    for (const difference of compareAnswers(upstream, ours, decodeAnswer)) {
      this.findings.push({ script, step, difference });
    }
  }

  [Symbol.dispose](): void {
    this.#upstream[Symbol.dispose]();
    this.#ours[Symbol.dispose]();
  }
}

/** `kubernetes-admin (system:masters,system:authenticated)` */
function userIn(body: Buffer): string {
  const { status } = JSON.parse(body.toString()) as { status: { userInfo: { username: string; groups: string[] } } };
  const { username, groups } = status.userInfo;
  return `${username} (${groups.join(",")})`;
}

async function inParallel<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

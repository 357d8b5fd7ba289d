import { parentPort } from "node:worker_threads";
import { messageOf } from "./message-of.ts";
import { formatYamlHere, jsonOf, parseYaml } from "./yaml.ts";
import { type YamlAnswer, type YamlJob } from "./yaml-pool.ts";

/** What was read may be no longer than this: aliases can make much of little. */
const maxJsonBytes = 8 << 20;

/** Does one job after the other. */
parentPort?.on("message", async (job: Pick<YamlJob, "task" | "text">) => {
  const answer = await work(job).catch((error: unknown): YamlAnswer => ({ fault: messageOf(error) }));
  // Copied into memory of its own, which changes hands without a copy.
  const bytes = answer.bytes && new Uint8Array(answer.bytes);
  parentPort?.postMessage({ ...answer, ...(bytes ? { bytes } : {}) }, bytes ? [bytes.buffer] : []);
});

async function work({ task, text }: Pick<YamlJob, "task" | "text">): Promise<YamlAnswer> {
  if (task === "write") return { bytes: Buffer.from(await formatYamlHere(JSON.parse(text))) };
  const bytes = jsonOf((await parseYaml(text)).value);
  return bytes.length > maxJsonBytes ? { fault: "yaml: too long to be read: send it as JSON" } : { bytes };
}

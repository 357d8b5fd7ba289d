import { parentPort } from "node:worker_threads";
import { messageOf } from "../text/message-of.ts";
import { formatYamlHere, jsonOf, parseYaml } from "./yaml.ts";
import { type YamlAnswer, type YamlJob } from "./yaml-pool.ts";

/** The longest result: aliases can expand a short text into a long one. */
const maxJsonBytes = 8 << 20;

/** Does one job after the other. */
parentPort?.on("message", async (job: Pick<YamlJob, "task" | "text">) => {
  const answer = await work(job).catch((error: unknown): YamlAnswer => ({ fault: messageOf(error) }));
  // Copied into its own memory, which can be transferred without another copy.
  const bytes = answer.bytes && new Uint8Array(answer.bytes);
  parentPort?.postMessage({ ...answer, ...(bytes ? { bytes } : {}) }, bytes ? [bytes.buffer] : []);
});

async function work({ task, text }: Pick<YamlJob, "task" | "text">): Promise<YamlAnswer> {
  if (task === "write") return { bytes: Buffer.from(await formatYamlHere(JSON.parse(text))) };
  const { value, duplicates } = await parseYaml(text);
  const bytes = jsonOf(value);
  return bytes.length > maxJsonBytes ? { fault: "yaml: too long to be read: send it as JSON" } : { bytes, duplicates };
}

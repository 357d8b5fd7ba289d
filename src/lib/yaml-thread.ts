import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "./message-of.ts";
import { parseYamlHere } from "./yaml.ts";

/** Reads one long text, tells the result or what is wrong, and ends. */
try {
  parentPort?.postMessage({ parsed: await parseYamlHere(String(workerData)) });
} catch (error) {
  parentPort?.postMessage({ fault: messageOf(error) });
}

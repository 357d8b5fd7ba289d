/** Replaces what two servers cannot agree on: identities, times, allocated addresses. */
export function normalise(value: unknown, path: readonly string[] = []): unknown {
  if (Array.isArray(value)) {
    const isGroups = ["groups", "items"].includes(path.at(-1) ?? "");
    const kept = isGroups ? value.filter((entry) => !isOwnGroup(entry)) : value;
    const items = path.at(-1) === "managedFields" ? kept.filter((entry) => !isOwnManager(entry)) : kept;
    return items.map((item) => normalise(item, [...path, "[]"]));
  }
  if (typeof value === "string") return normaliseText(value);
  if (typeof value !== "object" || value === null) return value;
  const out: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    out[key] = isVolatile(key, inner, path) ? `<${key}>` : normalise(inner, [...path, key]);
  }
  return out;
}

/** Controllers inside the servers write a status whenever they get to it. */
const isOwnManager = (entry: unknown): boolean =>
  typeof entry === "object" &&
  entry !== null &&
  "manager" in entry &&
  ["kube-apiserver", "api-priority-and-fairness-config-consumer-v1"].includes(String(entry.manager));

/** Our server serves the metrics of nodes and pods itself. */
function isOwnGroup(entry: unknown): boolean {
  const { name, metadata } = (entry ?? {}) as { name?: unknown; metadata?: { name?: unknown } };
  return name === "metrics.k8s.io" || metadata?.name === "metrics.k8s.io";
}

const inMetadata = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "selfLink",
  "continue",
]);
const allocated = new Set(["clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"]);

function isVolatile(key: string, value: unknown, path: readonly string[]): boolean {
  const parent = path.at(-1);
  if (value === null || value === "" || value === "None") return false;
  if (parent === "metadata" && inMetadata.has(key)) return true;
  if (allocated.has(key) && (parent === "spec" || path.at(-2) === "ports")) return true;
  if (key === "time" && path.includes("managedFields")) return true;
  if (key === "uid" && parent === "details") return true;
  if (key === "serverAddress") return true;
  return key === "token" && parent === "status";
}

/** The same for values within messages. */
export function normaliseText(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uid>")
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, (time) => (isNow(time) ? "<time>" : time))
    .replace(/kube-api-access-[a-z0-9]{5}/g, "kube-api-access-<random>")
    .replace(/\b10\.96\.\d+\.\d+\b/g, "<cluster IP>")
    .replace(/\b3\d{4}\/(TCP|UDP)/g, "<node port>/$1")
    .replace(/X509SHA256=[0-9a-f]+/g, "<credential>")
    .replace(/\b(made-|Made_)[a-z0-9]{5}/g, "$1<random>")
    .replace(/in record \(\d+\)/, "in record (<rv>)")
    .replace(/Key: \S+,/, "Key: <key>,")
    .replace(/ResourceVersion in object meta: \d+/, "ResourceVersion in object meta: <rv>")
    .replace(/, current: \d+/, ", current: <rv>")
    .replace(/(resourceVersion|resource version)(:|=| )+"?\d+"?/gi, "$1 <rv>");
}

/** Times that the generator wrote itself are not of this hour. */
const isNow = (time: string): boolean => Math.abs(Date.parse(time) - Date.now()) < 86_400_000;

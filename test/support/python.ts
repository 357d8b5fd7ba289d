import { spawnSync } from "node:child_process";
import { type DebianPackage } from "#cli/packages.ts";

const modules = "/usr/lib/python3/dist-packages";

/** What the tests of our examples in Python need. */
export const pythonPackages: readonly DebianPackage[] = [
  { name: "python3-kubernetes", files: [`${modules}/kubernetes`] },
  { name: "python3-pytest", files: [`${modules}/pytest`] },
];

/** A Python that has this module: the first one on the PATH, or else Debian's. */
export const pythonWith = (module: string): string | undefined =>
  ["python3", "/usr/bin/python3"].find((python) => spawnSync(python, ["-c", `import ${module}`]).status === 0);

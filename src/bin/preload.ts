import { resolveModules } from "../lib/process/resolve-modules.ts";

// Programs and tests that `orlop run` starts load hundreds of modules of a checkout.
resolveModules(new URL("..", import.meta.url).href);

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { silentLog } from "#lib/log.ts";
import { openSqliteStore } from "./sqlite.ts";
import { storeSuite } from "./store.suite.ts";

const root = mkdtempSync(join(tmpdir(), "orlop-store-"));
after(() => rmSync(root, { recursive: true, force: true }));
let directories = 0;
const newDirectory = (): string => join(root, String(directories++));

storeSuite("SqliteStore", (clock) => openSqliteStore(newDirectory(), { clock, log: silentLog }));

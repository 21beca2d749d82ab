/** @module A program that writes numbered lines into a task's log without end, for tests that read it or kill it meanwhile. */
import { openTaskLog } from "../../src/dispatcher/log-file.ts";

const [path = "", rotateBytes = "", backups = ""] = process.argv.slice(2);
const log = await openTaskLog(path, { rotateBytes: Number(rotateBytes), backups: Number(backups), header: "0" });
for (let line = 1; ; line++) {
  log.write(Buffer.from(`${line}\n`));
  if (line % 1000 === 0) process.stdout.write(`${line}\n`);
}

/** @module The program. Nothing imports this file. */
import { holdfastVersion } from "../base/version.ts";
import { printLine } from "./render.ts";

const args = process.argv.slice(2);
if (args.length === 1 && (args[0] === "--version" || args[0] === "-V")) {
  printLine(holdfastVersion());
} else if (args.length === 1 && args[0] === "__supervise") {
  const { runSupervisor } = await import("../app/run-supervisor.ts");
  process.exit(await runSupervisor(process.stdin));
} else {
  // Loaded only now, so that asking for the version costs next to nothing.
  const { runProgram } = await import("./run-program.ts");
  process.exit(await runProgram(args));
}

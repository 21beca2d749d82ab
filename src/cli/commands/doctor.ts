/** @module holdfast doctor: does it work here, and if not, why not. */
import { doctor } from "../../app/operations/doctor.ts";
import type { DoctorReport } from "../../app/results.ts";
import { addJsonFlag } from "../flags.ts";
import type { Terminal } from "../render.ts";
import { addHelpNotes, type RegisterVerb } from "../verb.ts";

export const register: RegisterVerb = (command, { runner }) => {
  addJsonFlag(command).action(() =>
    runner.run(command, async ({ app, terminal, flags }) => {
      const report = await doctor.run(app, {});
      if (flags.json) terminal.json(report);
      else print(report, terminal);
      return report.healthy ? 0 : 1;
    }),
  );
  addHelpNotes(command, {
    examples: [["holdfast doctor", "the configured backend has a *"]],
    exit: [
      ["0", "the configured backend is ready"],
      ["1", "it is not; the fix is printed"],
      ["2", "the command line was not understood"],
    ],
  });
};

function print({ backends, daemon, home }: DoctorReport, terminal: Terminal): void {
  const rows = backends.map(({ name, configured, status, detail }) => [configured ? "*" : "", name, status, detail]);
  terminal.table(["", "BACKEND", "STATUS", "DETAIL"], rows);
  terminal.fact("holdfastd", daemon.status === "used" ? daemon.detail : `${daemon.status}: ${daemon.detail}`);
  for (const { name, warnings } of backends) for (const warning of warnings) terminal.fact(`careful with ${name}`, warning);
  for (const warning of home.warnings) terminal.fact("careful with the home", warning);
  if (home.problem !== null) terminal.fact("home", `not usable: ${home.problem}`);
  for (const { name, fix } of [...backends, { name: "holdfastd", fix: daemon.fix }])
    if (fix !== null) terminal.fact(`fix for ${name}`, fix);
}

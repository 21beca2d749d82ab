/** @module holdfast doctor: does it work here, and if not, why not. */
import { doctor } from "../../app/operations/doctor.ts";
import { addJsonFlag } from "../flags.ts";
import { addHelpNotes, type RegisterVerb } from "../verb.ts";

export const register: RegisterVerb = (command, { runner }) => {
  addJsonFlag(command).action(() =>
    runner.run(command, async ({ app, terminal, flags }) => {
      const report = await doctor.run(app, {});
      if (flags.json) terminal.json(report);
      else {
        const rows = report.backends.map(({ name, configured, status, detail }) => [configured ? "*" : "", name, status, detail]);
        terminal.table(["", "BACKEND", "STATUS", "DETAIL"], rows);
        const { status, detail, fix: daemonFix } = report.daemon;
        terminal.fact("holdfastd", status === "used" ? detail : `${status}: ${detail}`);
        if (daemonFix !== null) terminal.fact("fix for holdfastd", daemonFix);
        if (report.home.problem !== null) terminal.fact("home", `not usable: ${report.home.problem}`);
        for (const { name, fix } of report.backends) if (fix !== null) terminal.fact(`fix for ${name}`, fix);
      }
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

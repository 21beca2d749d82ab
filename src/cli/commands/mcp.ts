/** @module holdfast mcp: the verbs of the board as tools for a model's client. */
import { interruptible } from "../interruptible.ts";
import { addHelpNotes, type HelpNotes, type RegisterVerb } from "../verb.ts";

const MCP_EXIT: HelpNotes["exit"] = [
  ["0", "the client has closed its end"],
  ["1", "Holdfast failed; the message says why"],
  ["2", "the command line was not understood"],
  ["130", "ended by Ctrl-C; 143 by TERM"],
];

export const register: RegisterVerb = (command, { runner }) => {
  command.action(() =>
    runner.run(command, ({ app, terminal }) =>
      interruptible(terminal, async (signal) => {
        if (terminal.interactive) terminal.note("messages of an MCP client are expected here, one a line; Ctrl-C ends it");
        const { serveOver } = await import("../../mcp/serve.ts");
        await serveOver(app, { ...terminal.ends, signal });
        signal.throwIfAborted();
        return 0;
      }),
    ),
  );
  addHelpNotes(command, {
    examples: [
      ["claude mcp add holdfast -- holdfast mcp", "for people and orchestrators"],
      ["holdfast mcp", "in a worker: for its own task"],
    ],
    exit: MCP_EXIT,
  });
};

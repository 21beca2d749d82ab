/** @module holdfast mcp: the verbs of the board as tools for a model's client. */
import { interruptible } from "../interruptible.ts";
import { FOLLOW_EXIT } from "../kanban/kanban-verb.ts";
import { addHelpNotes, type RegisterVerb } from "../verb.ts";

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
    exit: FOLLOW_EXIT,
  });
};

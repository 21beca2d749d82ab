import type { Command } from "commander";
import { expect, test } from "vitest";
import { programForReading } from "../../../scripts/gen-cli-docs.ts";

const VERBS = [
  ...["init", "boards", "create", "list", "show", "why", "assign", "reassign", "link", "unlink", "comment", "attach", "complete", "block"],
  ...["unblock", "schedule", "request-review", "request-changes", "promote", "archive", "claim", "reclaim", "heartbeat", "dispatch"],
  ...["tail", "watch", "stats", "runs", "log", "context", "decompose", "specify", "swarm", "diagnostics", "gc", "repair"],
];
/** What a worker does with the token of its run. */
const BY_TOKEN = [
  ...["create", "link", "unlink", "comment", "attach", "attach-rm", "complete", "block", "request-review", "request-changes", "heartbeat"],
];

const kanban = (await programForReading()).commands.find((command) => command.name() === "kanban");
const verb = (name: string) => kanban?.commands.find((command) => command.name() === name);
const flags = (command: Command | undefined) => command?.options.map(({ long }) => long) ?? [];
const leaves = (command: Command): Command[] => (command.commands.length === 0 ? [command] : command.commands.flatMap(leaves));

test.each(VERBS)("K32 K34 there is kanban %s, and it prints JSON", (name) => {
  const found = verb(name);
  expect(found).toBeDefined();
  for (const leaf of found === undefined ? [] : leaves(found)) expect(flags(leaf), leaf.name()).toContain("--json");
});

test("K32 dispatch can look first, stop early, and go on", () => {
  expect(flags(verb("dispatch"))).toEqual(expect.arrayContaining(["--dry-run", "--max", "--watch", "--json"]));
});

test("K34 a lost claim is exit status 3, and the help of exactly those who can lose one says so", () => {
  const telling = leaves(kanban as Command).filter((command) => /^ {2}3 +the claim is lost/m.test(helpOf(command)));
  expect(telling.map((command) => command.name()).toSorted()).toEqual(BY_TOKEN.toSorted());
});

test.each(["dispatch", "tail", "watch", "log"])("K34 kanban %s says how it ends with a signal", (name) => {
  expect(helpOf(verb(name) as Command)).toMatch(/^ {2}130 .*Ctrl-C; 143 by TERM$/m);
});

function helpOf(command: Command): string {
  const parts: string[] = [];
  command.configureOutput({ writeOut: (part) => void parts.push(part) }).outputHelp();
  return parts.join("");
}

import { describe, expect, test } from "vitest";
import { PLACES } from "../app/worker-bridge/tool-call.ts";
import { toolsFor } from "./tools.ts";

const everybody = toolsFor({ worker: false });
const workers = toolsFor({ worker: true });

function fields({ input }: { input: Record<string, unknown> }): Record<string, { description?: string }> {
  return input.properties as never;
}

describe("the tools of the board", () => {
  test("K29 are the verbs for workers, and for orchestrators also list and unblock", () => {
    const names = (tools: typeof workers) => tools.map(({ name }) => name.replace("kanban_", ""));
    expect(names(workers)).toEqual(
      "show context complete block request_review request_changes heartbeat comment create link attach".split(" "),
    );
    expect(names(everybody)).toEqual([...names(workers), "list", "unblock"]);
  });

  test("say what each field means, and a worker is not asked who it is", () => {
    const undescribed = everybody.flatMap((tool) =>
      Object.entries(fields(tool)).flatMap(([field, { description }]) => (description ? [] : [`${tool.name}.${field}`])),
    );
    expect(undescribed).toEqual([]);
    const asked = workers.flatMap((tool) => Object.keys(fields(tool)).filter((field) => ["board", "token"].includes(field)));
    expect(asked).toEqual([]);
    expect(Object.keys(fields(everybody.find(({ name }) => name === "kanban_heartbeat") ?? { input: {} }))).toEqual([
      "id",
      "board",
      "token",
    ]);
  });

  test("K29 name files and places only where a bridge out of a sandbox translates them", () => {
    const known = Object.entries(PLACES).flatMap(([tool, places]) => Object.keys(places).map((field) => `${tool}.${field}`));
    const places = workers.flatMap((tool) =>
      Object.keys(fields(tool)).flatMap((field) => (/path|file|artifact|workspace|dir/i.test(field) ? [`${tool.name}.${field}`] : [])),
    );
    expect(places.sort()).toEqual(known.sort());
  });
});

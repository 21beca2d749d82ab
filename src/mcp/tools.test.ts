import { describe, expect, test } from "vitest";
import { checkRepetition } from "../app/check-repeat.ts";
import { PLACES } from "../app/worker-bridge/tool-call.ts";
import { systemClock } from "../base/clock.ts";
import { toolsFor } from "./tools.ts";

const everybody = toolsFor({ worker: false });
const workers = toolsFor({ worker: true });

function fields({ input }: { input: Record<string, unknown> }): Record<string, { description?: string }> {
  return input.properties as never;
}

describe("the tools of the board", () => {
  test("K29 are the verbs for workers, and for orchestrators also list and unblock", () => {
    const names = (tools: typeof workers) => tools.map(({ name }) => name.replace("kanban_", ""));
    const shared = "show context complete block request_review request_changes comment create link attach".split(" ");
    expect(names(workers)).toEqual([...shared, "heartbeat"]);
    expect(names(everybody)).toEqual([...shared, "list", "unblock"]);
  });

  test("say what each field means, and a worker is not asked who it is", () => {
    const undescribed = everybody.flatMap((tool) =>
      Object.entries(fields(tool)).flatMap(([field, { description }]) => (description ? [] : [`${tool.name}.${field}`])),
    );
    expect(undescribed).toEqual([]);
    const asked = workers.flatMap((tool) => Object.keys(fields(tool)).filter((field) => ["board", "token"].includes(field)));
    expect(asked).toEqual([]);
    expect(everybody.every((tool) => Object.keys(fields(tool)).includes("board"))).toBe(true);
  });

  test("leave out bounds that every number keeps, and ask for times as people write them", () => {
    const create = everybody.find(({ name }) => name === "kanban_create");
    expect(create?.input.properties).toMatchObject({
      priority: { type: "integer", description: expect.any(String) },
      deadline: { type: "string", format: "date-time" },
    });
    expect(JSON.stringify(everybody)).not.toContain(String(Number.MAX_SAFE_INTEGER));
  });

  test("K10 K29 name examples of a repetition that the board takes", async () => {
    const create = everybody.find(({ name }) => name === "kanban_create") ?? { input: {} };
    const examples = [...(fields(create).repeat?.description ?? "").matchAll(/`(.+?)`/g)].map(([, example = ""]) => example);
    expect(examples).toHaveLength(2);
    for (const example of examples) await checkRepetition({ clock: systemClock }, example);
  });

  test("K29 name files and places only where a bridge out of a sandbox translates them", () => {
    const known = Object.entries(PLACES).flatMap(([tool, places]) => Object.keys(places).map((field) => `${tool}.${field}`));
    const places = workers.flatMap((tool) =>
      Object.keys(fields(tool)).flatMap((field) => (/path|file|artifact|workspace|dir/i.test(field) ? [`${tool.name}.${field}`] : [])),
    );
    expect(places.sort()).toEqual(known.sort());
  });
});

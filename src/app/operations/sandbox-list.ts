/** @module Lists what exists. */
import * as z from "zod/mini";
import { listEverywhere, listSandboxes } from "../listed-sandboxes.ts";
import { defineOperation } from "../operation.ts";
import { SandboxSummaryShape } from "../schemas.ts";

const ListedShape = z.extend(SandboxSummaryShape, { why: z.string() });

export const sandboxList = defineOperation({
  name: "sandbox.list",
  summary: "List the sandboxes of the profile, or of all profiles, and why each is kept",
  input: z.strictObject({ all: z._default(z.boolean(), false) }),
  output: z.readonly(z.array(ListedShape)),
  async run(app, { all }) {
    if (!all) return listSandboxes(app);
    const { sandboxes, unlisted } = await listEverywhere(app);
    // A plain list has no place for what is missing from it.
    const [missing] = unlisted;
    if (missing !== undefined) throw missing.error;
    return sandboxes;
  },
});

export const sandboxListAll = defineOperation({
  name: "sandbox.list-all",
  summary: "List the sandboxes of all profiles, and say which profile or backend could not be asked",
  input: z.strictObject({}),
  output: z.object({
    sandboxes: z.readonly(z.array(ListedShape)),
    unlisted: z.readonly(z.array(z.object({ profile: z.string(), backend: z.nullable(z.string()), reason: z.string() }))),
  }),
  async run(app) {
    const { sandboxes, unlisted } = await listEverywhere(app);
    return { sandboxes, unlisted: unlisted.map(({ profile, backend, reason }) => ({ profile, backend, reason })) };
  },
});

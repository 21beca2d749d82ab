/** @module What a model says, as JSON. It is data: whatever it holds, only titles, texts, names of profiles and an order come out of it. */
import * as z from "zod/mini";
import { HoldfastError } from "../../base/errors.ts";

const LONGEST_TITLE = 200;
const LONGEST_BODY = 100_000;
export const MOST_TASKS = 20;

const Text = z.object({ title: z.string(), body: z._default(z.string(), "") });
const Part = z.extend(Text, { assignee: z.optional(z.nullable(z.string())), parents: z._default(z.array(z.int()), []) });
const FanOut = z.object({
  fanout: z.literal(true),
  rationale: z._default(z.string(), ""),
  tasks: z.array(Part).check(z.minLength(1), z.maxLength(MOST_TASKS)),
});
const Single = z.extend(Text, { fanout: z.literal(false) });

export interface PlannedPart {
  readonly title: string;
  readonly body: string;
  /** As the model wrote it: not checked. */
  readonly assignee: string | null;
  /** Indexes of parts that come before. */
  readonly parents: readonly number[];
}

export type DecomposeAnswer =
  | { readonly fanout: true; readonly rationale: string; readonly tasks: readonly PlannedPart[] }
  | ({ readonly fanout: false } & TaskText);

export interface TaskText {
  readonly title: string;
  readonly body: string;
}

/** @throws `model-failed` */
export function readDecomposition(answer: string): DecomposeAnswer {
  const value = readJson(answer);
  const single = z.safeParse(Single, value);
  if (single.success) return { fanout: false, ...cleanText(single.data) };
  const { rationale, tasks } = check(FanOut, value);
  return { fanout: true, rationale: oneLine(rationale).slice(0, 1000), tasks: tasks.map((part) => cleanPart(part, tasks.length)) };
}

/** @throws `model-failed` */
export function readText(answer: string): TaskText {
  return cleanText(check(Text, readJson(answer)));
}

export function unusable(why: string, cause?: unknown): HoldfastError {
  return new HoldfastError("model-failed", `the answer of the model cannot be used: ${why}`, {
    hint: "try again, or configure a more capable model",
    facts: { reason: why },
    cause,
  });
}

function cleanPart({ assignee, parents, ...text }: z.infer<typeof Part>, count: number): PlannedPart {
  const bad = parents.find((parent) => parent < 0 || parent >= count);
  if (bad !== undefined) throw unusable(`a task waits for number ${bad}, and there are ${count}`);
  return { ...cleanText(text), assignee: assignee?.trim() || null, parents: [...new Set(parents)] };
}

function cleanText({ title, body }: TaskText): TaskText {
  const line = oneLine(title).slice(0, LONGEST_TITLE).toWellFormed().trim();
  if (line === "") throw unusable("a title is empty");
  return { title: line, body: body.slice(0, LONGEST_BODY).toWellFormed().replaceAll("\0", "") };
}

function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, " ").trim();
}

function check<Shape extends z.ZodMiniType>(shape: Shape, value: unknown): z.infer<Shape> {
  const parsed = z.safeParse(shape, value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw unusable(`${issue?.path.join(".") || "it"} is not as it was asked for`, parsed.error);
}

/** Some models wrap what they say in a code fence, or say a word before. */
function readJson(answer: string): unknown {
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(answer)?.[1];
  try {
    return JSON.parse((fenced ?? answer).trim());
  } catch (error) {
    throw unusable("it is no JSON", error);
  }
}

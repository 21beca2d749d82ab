/** @module Settings that a task has for itself (S45): a file in the profile's `tasks`, so that every process comes to the same sandbox. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { writeFileAtomic } from "../base/atomic-file.ts";
import { describeError, HoldfastError } from "../base/errors.ts";
import { listDirectory } from "../base/list-directory.ts";
import type { Logger } from "../base/log.ts";
import { makeDirectory } from "../base/make-directory.ts";
import { taskSegment } from "../base/names.ts";
import { readStateFile } from "../base/regular-file.ts";
import { BACKENDS } from "../sandbox/backends.gen.ts";

const FOLDER = "tasks";
const Content = z.strictObject({ version: z.literal(1), task: z.string(), settings: z.record(z.string(), z.string()) });

/** Which key holds the image of a backend. */
const IMAGE_KEYS: Readonly<Record<string, string>> = {
  docker: "terminal.docker_image",
  apptainer: "terminal.singularity_image",
  modal: "terminal.modal_image",
  daytona: "terminal.daytona_image",
};

export interface TaskSettings {
  readonly task: string;
  /** By key: `terminal.docker_image`. */
  readonly settings: Readonly<Record<string, string>>;
}

/** What a task may name for itself. */
export interface TaskChoice {
  readonly backend?: string | undefined;
  readonly image?: string | undefined;
}

/** @throws `invalid-input` for an image on a backend that has none */
export function settingsFor({ backend, image }: TaskChoice, configured: string): Record<string, string> {
  const where = backend ?? configured;
  const key = Object.hasOwn(IMAGE_KEYS, where) ? IMAGE_KEYS[where] : undefined;
  // What is no backend at all is refused with the rest of the configuration.
  if (image !== undefined && key === undefined && BACKENDS.some((known) => known === where))
    throw new HoldfastError("invalid-input", `the ${where} backend has no images`, {
      hint: "name a backend that has, too",
      facts: { backend: where, image },
    });
  return { ...(backend !== undefined && { "terminal.backend": backend }), ...(image !== undefined && key && { [key]: image }) };
}

/** Null when the task has none. @throws `state-unreadable` */
export function readTaskSettings(home: string, task: string): TaskSettings | null {
  const path = pathOf(home, task);
  const found = readSettings(path);
  // One that was put there under another name must not send the task elsewhere.
  if (found !== null && found.task !== task) throw unreadable(path, `it is of task ${JSON.stringify(found.task)}`);
  return found;
}

/** One that cannot be read is told and left out: it must not hide the others. */
export function listTaskSettings(home: string, { log }: { log: Logger }): TaskSettings[] {
  const files = listDirectory(join(home, FOLDER)).filter((name) => name.endsWith(".json"));
  return files.flatMap((name) => {
    try {
      return readSettings(join(home, FOLDER, name)) ?? [];
    } catch (error) {
      if (!HoldfastError.isInstance(error)) throw error;
      log.warn(`${error.message}; ${error.hint}`, error.facts);
      return [];
    }
  });
}

export async function writeTaskSettings(home: string, { task, settings }: TaskSettings): Promise<void> {
  await makeDirectory(join(home, FOLDER));
  await writeFileAtomic(pathOf(home, task), `${JSON.stringify({ version: 1, task, settings }, null, 2)}\n`, { mode: 0o600 });
}

export async function forgetTaskSettings(home: string, task: string): Promise<void> {
  await rm(pathOf(home, task), { force: true });
}

function pathOf(home: string, task: string): string {
  return join(home, FOLDER, `${taskSegment(task)}.json`);
}

function readSettings(path: string): TaskSettings | null {
  const text = readStateFile(path);
  if (text === undefined) return null;
  try {
    return z.parse(Content, JSON.parse(text));
  } catch (error) {
    throw unreadable(path, describeError(error), error);
  }
}

function unreadable(path: string, reason: string, cause?: unknown): HoldfastError {
  return new HoldfastError("state-unreadable", `${path} does not hold the settings of a task: ${reason}`, {
    hint: "remove or correct the file",
    facts: { path },
    cause,
  });
}

/** @module The images of a task for a worker that can see: files of the task alone, whatever its body names (K31). */
import { isAbsolute, join } from "node:path";
import { HoldfastError } from "../../base/errors.ts";
import { openInside } from "../../base/open-inside.ts";
import type { BoardFiles } from "../../board/files.ts";
import type { Attachment } from "../../board/notes.ts";
import type { Task } from "../../board/task.ts";
import { IMAGE_START_BYTES, type ImageType, imageType } from "./image-type.ts";
import { imageReferences } from "./references.ts";

const MOST_IMAGES = 10;
const MOST_BYTES = 20_000_000;

export interface TaskImage {
  /** Absolute, without links. */
  readonly path: string;
  readonly contentType: ImageType;
  readonly bytes: number;
}

export interface TaskImages {
  readonly images: readonly TaskImage[];
  /** Not fetched. */
  readonly urls: readonly string[];
  /** What the body names and the worker does not get. */
  readonly skipped: readonly { readonly reference: string; readonly reason: string }[];
}

export interface ImagesOfOptions {
  readonly files: BoardFiles;
  readonly attachments: readonly Pick<Attachment, "name" | "path">[];
  /** Its directory; null: there is none yet. */
  readonly workspace: string | null;
}

export async function imagesOf(
  task: Pick<Task, "id" | "board" | "body">,
  { files, attachments, workspace }: ImagesOfOptions,
): Promise<TaskImages> {
  const within = [files.attachments(task.board, task.id), ...(workspace === null ? [] : [workspace])];
  const references = imageReferences(task.body);
  const images = new Map<string, TaskImage>();
  const skipped: { reference: string; reason: string }[] = [];
  let total = 0;
  for (const { kind, text } of references) {
    if (kind === "url") continue;
    const found = await findImage(placesOf(text, { attachments, workspace }), within);
    if (typeof found === "string") skipped.push({ reference: text, reason: found });
    else if (images.has(found.path)) continue;
    else if (images.size >= MOST_IMAGES) skipped.push({ reference: text, reason: `${MOST_IMAGES} images are the most` });
    else if (total + found.bytes > MOST_BYTES) skipped.push({ reference: text, reason: `${MOST_BYTES} bytes are the most for all images` });
    else {
      images.set(found.path, found);
      total += found.bytes;
    }
  }
  return { images: [...images.values()], urls: references.filter(({ kind }) => kind === "url").map(({ text }) => text), skipped };
}

/** Where the file may be, the likeliest first. Markdown writes blanks as %20. */
function placesOf(text: string, { attachments, workspace }: Pick<ImagesOfOptions, "attachments" | "workspace">): string[] {
  return [...new Set([text, decoded(text)])].flatMap((name) => {
    if (isAbsolute(name)) return [name];
    const attached = attachments.filter((attachment) => attachment.name === name).map(({ path }) => path);
    return workspace === null ? attached : [...attached, join(workspace, name)];
  });
}

/** The first that is an image, or why none is. */
async function findImage(places: readonly string[], within: readonly string[]): Promise<TaskImage | string> {
  let why = "it is neither attached nor in the workspace";
  for (const place of places) {
    const found = await readImage(place, within);
    if (typeof found !== "string") return found;
    why = found;
  }
  return why;
}

async function readImage(place: string, within: readonly string[]): Promise<TaskImage | string> {
  const refuse = (reason: string, cause?: unknown) => new HoldfastError("artifact-refused", reason, { facts: { path: place }, cause });
  try {
    await using file = await openInside(place, { within, refuse });
    const { buffer, bytesRead } = await file.handle.read(Buffer.alloc(IMAGE_START_BYTES), 0, IMAGE_START_BYTES, 0);
    const contentType = imageType(buffer.subarray(0, bytesRead));
    return contentType === null ? "it is not an image" : { path: file.path, contentType, bytes: file.size };
  } catch (error) {
    if (HoldfastError.isInstance(error)) return error.message;
    throw error;
  }
}

function decoded(text: string): string {
  try {
    const name = decodeURIComponent(text);
    return name.includes("\0") ? text : name;
  } catch {
    // URIError: a percent sign that is part of the name.
    return text;
  }
}

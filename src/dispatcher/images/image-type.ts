/** @module What kind of image a file is, by its first bytes: its name says what somebody wants it to be. */

export type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

export const IMAGE_START_BYTES = 12;

/** Null: none that models take. */
export function imageType(start: Uint8Array): ImageType | null {
  const text = Buffer.from(start.subarray(0, IMAGE_START_BYTES)).toString("latin1");
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (text.startsWith("GIF87a") || text.startsWith("GIF89a")) return "image/gif";
  return text.startsWith("RIFF") && text.slice(8) === "WEBP" ? "image/webp" : null;
}

/** @module Comments and attachments. The author of what a run writes is its profile, whatever it says (K29). */
import type { Selectable } from "kysely";
import { HoldfastError } from "../base/errors.ts";
import { type Author, authorOf, checkReach } from "./author.ts";
import { first } from "./database.ts";
import { addEvent } from "./events.ts";
import { type AttachmentTable, type CommentTable, LARGEST_ATTACHMENT } from "./schema.ts";
import { type Actor, standingOf } from "./state.ts";
import type { StoreContext } from "./store-context.ts";
import { checkLine, checkText, checkWhole } from "./task-input.ts";

export interface Comment {
  readonly id: number;
  readonly task: string;
  readonly run: number | null;
  readonly author: string;
  readonly body: string;
  readonly createdAt: number;
}

export interface Attachment {
  readonly id: number;
  readonly task: string;
  readonly run: number | null;
  readonly name: string;
  readonly path: string;
  readonly contentType: string;
  readonly size: number;
  readonly addedBy: string;
  readonly createdAt: number;
}

/** The file itself is kept by the caller. */
export type NewAttachment = Pick<Attachment, "name" | "path" | "contentType" | "size">;

export interface NoteOperations {
  /** A run writes on any task of its board. */
  comment(task: string, body: string, actor: Actor | Author): Promise<Comment>;
  /** Oldest first. */
  comments(task: string): Promise<Comment[]>;
  /** @throws `too-large` above 25 MiB */
  addAttachment(task: string, attachment: NewAttachment, actor: Actor): Promise<Attachment>;
  attachments(task: string): Promise<Attachment[]>;
  /** @throws `attachment-not-found` */
  getAttachment(id: number): Promise<Attachment>;
}

export function noteOperations({ database, clock }: StoreContext): NoteOperations {
  const { build } = database;
  return {
    comment: (task, body, actor) =>
      database.write(async (session) => {
        const { board } = await standingOf(session, task);
        const known = await authorOf(session, actor.token === undefined ? actor : { task, ...actor });
        checkReach(known, board);
        const { name, run } = known;
        const row = { task, run, author: name, body: checkText("body", body), created_at: clock.now() };
        const [made] = await session.query(build.insertInto("comments").values(row).returningAll().compile());
        if (made === undefined) throw new HoldfastError("internal", `the comment on ${task} got no id`);
        await addEvent(session, { board, task, run, kind: "commented", actor: name, at: row.created_at, payload: { comment: made.id } });
        return toComment(made);
      }),
    async comments(task) {
      const query = build.selectFrom("comments").selectAll().where("task", "=", task).orderBy("id");
      return (await database.read((session) => session.query(query.compile()))).map(toComment);
    },
    addAttachment: (task, { name, path, contentType, size }, actor) =>
      database.write(async (session) => {
        if (checkWhole("size", size) > LARGEST_ATTACHMENT) {
          throw new HoldfastError("too-large", `${JSON.stringify(name)} has ${size} bytes, and ${LARGEST_ATTACHMENT} are the most`, {
            facts: { task, size },
          });
        }
        const { board } = await standingOf(session, task);
        const author = await authorOf(session, actor.token === undefined ? actor : { task, token: actor.token });
        const texts = { name: checkLine("name", name), path: checkLine("path", path), content_type: checkLine("contentType", contentType) };
        const row = { task, run: author.run, ...texts, size, added_by: author.name, created_at: clock.now() };
        const [made] = await session.query(build.insertInto("attachments").values(row).returningAll().compile());
        if (made === undefined) throw new HoldfastError("internal", `the attachment of ${task} got no id`);
        const payload = { attachment: made.id, name };
        await addEvent(session, { board, task, run: author.run, kind: "attached", actor: author.name, at: row.created_at, payload });
        return toAttachment(made);
      }),
    async attachments(task) {
      const query = build.selectFrom("attachments").selectAll().where("task", "=", task).orderBy("id");
      return (await database.read((session) => session.query(query.compile()))).map(toAttachment);
    },
    async getAttachment(id) {
      const query = build.selectFrom("attachments").selectAll().where("id", "=", checkWhole("id", id));
      const row = await first(database.read((session) => session.query(query.compile())));
      if (row === undefined) throw noAttachment(id);
      return toAttachment(row);
    },
  };
}

export function toComment({ created_at: createdAt, ...row }: Selectable<CommentTable>): Comment {
  return { ...row, createdAt };
}

export function toAttachment(row: Selectable<AttachmentTable>): Attachment {
  const { content_type: contentType, added_by: addedBy, created_at: createdAt, ...rest } = row;
  return { ...rest, contentType, addedBy, createdAt };
}

export function noAttachment(id: number): HoldfastError {
  return new HoldfastError("attachment-not-found", `there is no attachment ${id}`, { facts: { attachment: id } });
}

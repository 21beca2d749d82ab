/** @module Comments and attachments. The author of what a run writes is its profile, whatever it says (K29). */
import type { Selectable } from "kysely";
import { HoldfastError } from "../base/errors.ts";
import { type Author, authorOf, checkReach } from "./author.ts";
import { first, type Session, statement } from "./database.ts";
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

/** The most that runs may leave with one task, all together; 0 is no limit. What people attach does not count. */
export interface AttachmentQuota {
  readonly files: number;
  readonly bytes: number;
}

export interface NoteOperations {
  /** A run writes on any task of its board. */
  comment(task: string, body: string, actor: Actor | Author): Promise<Comment>;
  /** Oldest first. */
  comments(task: string): Promise<Comment[]>;
  /** @throws `too-large` above 25 MiB, and for a run whose task has as much as `quota` allows */
  addAttachment(task: string, attachment: NewAttachment, actor: Actor, quota?: AttachmentQuota): Promise<Attachment>;
  attachments(task: string): Promise<Attachment[]>;
  /** @throws `attachment-not-found` */
  getAttachment(id: number): Promise<Attachment>;
}

/** No two attachments share a file, so a second one of a run is the first, said again. */
const OF_PATH = statement<{ task: string; run: number; path: string }, Selectable<AttachmentTable>>((build, hole) =>
  build
    .selectFrom("attachments")
    .selectAll()
    .where("task", "=", hole("task"))
    .where("run", "=", hole("run"))
    .where("path", "=", hole("path")),
);

const OF_RUNS = statement<{ task: string }, { files: number; bytes: number | null }>((build, hole) =>
  build
    .selectFrom("attachments")
    .select(({ fn }) => [fn.countAll<number>().as("files"), fn.sum<number | null>("size").as("bytes")])
    .where("task", "=", hole("task"))
    .where("run", "is not", null),
);

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
    addAttachment: (task, { name, path, contentType, size }, actor, quota) => {
      const work = async (session: Session) => {
        if (checkWhole("size", size) > LARGEST_ATTACHMENT) {
          throw new HoldfastError("too-large", `${JSON.stringify(name)} has ${size} bytes, and ${LARGEST_ATTACHMENT} are the most`, {
            facts: { task, size },
          });
        }
        const { board } = await standingOf(session, task);
        const author = await authorOf(session, actor.token === undefined ? actor : { task, token: actor.token });
        const known = author.run === null ? undefined : await first(session.all(OF_PATH, { task, run: author.run, path }));
        if (known !== undefined) return toAttachment(known);
        if (author.run !== null && quota !== undefined) await checkQuota(session, { task, name, size, quota });
        const texts = { name: checkLine("name", name), path: checkLine("path", path), content_type: checkLine("contentType", contentType) };
        const row = { task, run: author.run, ...texts, size, added_by: author.name, created_at: clock.now() };
        const [made] = await session.query(build.insertInto("attachments").values(row).returningAll().compile());
        if (made === undefined) throw new HoldfastError("internal", `the attachment of ${task} got no id`);
        const payload = { attachment: made.id, name };
        await addEvent(session, { board, task, run: author.run, kind: "attached", actor: author.name, at: row.created_at, payload });
        return toAttachment(made);
      };
      return database.write(work, { repeatable: actor.token !== undefined });
    },
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

/** The task is locked, so of several verbs that attach at once each sees what the ones before it have added. */
async function checkQuota(
  session: Session,
  { task, name, size, quota }: { task: string; name: string; size: number; quota: AttachmentQuota },
): Promise<void> {
  const has = await first(session.all(OF_RUNS, { task }));
  const [files, bytes] = [Number(has?.files ?? 0), Number(has?.bytes ?? 0)];
  const refused = (limit: keyof AttachmentQuota, why: string) =>
    new HoldfastError("too-large", `${JSON.stringify(name)} cannot be attached to ${task}: ${why}`, {
      hint: `attach less, for example one archive instead of many files; a person can raise kanban.attach_max_${limit}, or make room with \`holdfast kanban detach\``,
      facts: { task, size, files, bytes, limit: quota[limit] },
    });
  if (quota.files > 0 && files >= quota.files)
    throw refused("files", `its workers have attached ${files} files already, and ${quota.files} are the most`);
  if (quota.bytes > 0 && bytes + size > quota.bytes)
    throw refused("bytes", `with it its workers would have attached ${bytes + size} bytes, and ${quota.bytes} are the most`);
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

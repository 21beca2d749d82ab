/** @module A way to a PostgreSQL on a unix socket that can be cut: for good, or at the moment at which an answer to a commit is on its way. */
import { mkdir } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createBell } from "./bell.ts";

export interface CutPostgres extends AsyncDisposable {
  /** The same database, by this way. */
  readonly url: string;
  /** Rung for each connection that was refused, and for each answer that was swallowed. */
  readonly refused: ReturnType<typeof createBell>;
  readonly swallowed: ReturnType<typeof createBell>;
  /** From now on no connection leads anywhere, and those that are open break. */
  cut(): void;
  mend(): void;
  /** The next commit is done, and nobody hears of it. */
  swallowCommit(): void;
}

const SOCKET = ".s.PGSQL.5432";

export async function cutPostgres(url: string, directory: string): Promise<CutPostgres> {
  const server = new URL(url.replace("@/", "@host/")).searchParams.get("host") ?? "";
  const place = join(directory, "way");
  await mkdir(place);
  const [refused, swallowed] = [createBell(), createBell()];
  const open = new Set<Socket>();
  let isCut = false;
  let swallows = false;
  const listener = createServer((client) => {
    client.on("error", () => {});
    if (isCut) {
      client.destroy();
      refused.ring();
      return;
    }
    const upstream = connect(join(server, SOCKET));
    let isSwallowing = false;
    const end = () => {
      open.delete(client);
      client.destroy();
      upstream.destroy();
    };
    open.add(client);
    client.on("data", (chunk) => {
      if (swallows && /commit\0/i.test(chunk.toString("latin1"))) {
        swallows = false;
        isSwallowing = true;
      }
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      // CommandComplete of the commit: only then is it done.
      if (!isSwallowing) return void client.write(chunk);
      if (!chunk.toString("latin1").includes("COMMIT\0")) return;
      end();
      swallowed.ring();
    });
    for (const socket of [client, upstream]) socket.on("close", end);
    upstream.on("error", end);
  });
  await new Promise<void>((resolve) => listener.listen(join(place, SOCKET), resolve));
  return {
    url: url.replace(encodeURIComponent(server), encodeURIComponent(place)),
    refused,
    swallowed,
    cut() {
      isCut = true;
      for (const socket of open) socket.destroy();
    },
    mend() {
      isCut = false;
    },
    swallowCommit() {
      swallows = true;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

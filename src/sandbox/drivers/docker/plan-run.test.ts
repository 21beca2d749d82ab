import { expect, test } from "vitest";
import { createLogger, type LogRecord } from "../../../base/log.ts";
import { callerIds } from "./plan-run.ts";

test("S6 a platform whose users have no numbers gets a warning and the image's user", () => {
  const logged: LogRecord[] = [];
  const log = createLogger({ clock: { now: () => 0 } as never, level: "warn", sink: (record) => logged.push(record) });
  expect(callerIds({ log, user: { uid: 1000, gid: 100 } })).toEqual({ uid: 1000, gid: 100 });
  expect(logged).toEqual([]);
  expect(callerIds({ log, user: { uid: -1, gid: -1 } })).toBeNull();
  expect(logged).toMatchObject([{ message: expect.stringContaining("does not expose POSIX uid/gid") }]);
});

import { describe, expect, test } from "vitest";
import { throwIfAborted, untilAborted } from "./abort.ts";

describe("waiting until a signal fires", () => {
  test("settles like the work while the signal is silent", async () => {
    const { signal } = new AbortController();
    expect(await untilAborted(Promise.resolve(1), signal, "given up")).toBe(1);
    expect(await untilAborted(Promise.resolve(2), undefined, "given up")).toBe(2);
    await expect(untilAborted(Promise.reject(new Error("broken")), signal, "given up")).rejects.toThrow("broken");
  });

  test("rejects at once when it fires, or has fired, with the reason as cause", async () => {
    const controller = new AbortController();
    const waiting = untilAborted(new Promise(() => {}), controller.signal, "given up");
    controller.abort("enough");
    const expected = { code: "aborted", message: "given up", cause: "enough" };
    await expect(waiting).rejects.toMatchObject(expected);
    await expect(untilAborted(Promise.resolve(1), controller.signal, "given up")).rejects.toMatchObject(expected);
    expect(() => throwIfAborted(controller.signal, "given up")).toThrow("given up");
  });

  test("leaves a later failure of the work to nobody", async () => {
    const controller = new AbortController();
    const { promise, reject } = Promise.withResolvers<void>();
    const waiting = untilAborted(promise, controller.signal, "given up");
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: "aborted" });
    // An unhandled rejection would fail the run.
    reject(new Error("too late"));
    await new Promise(setImmediate);
  });
});

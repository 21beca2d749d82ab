import { describe, expect, test } from "vitest";
import { createSecretSearch, withoutSecrets } from "./secrets.ts";

const search = createSecretSearch({ MY_TOKEN: "correct-horse", PLAIN: "not-a-secret-at-all" });
const clean = (text: string) => withoutSecrets("config.yaml", text, search);

describe("the settings of a profile that goes elsewhere", () => {
  test("K2 stay as they are, to the last byte, when there is no secret in them", async () => {
    const text = "# mine\nterminal:\n  timeout: 7   # long\n  docker_env: {DEBUG: '1', WHERE: not-a-secret-at-all}\n";
    expect(await clean(text)).toEqual({ text, leftOut: [], elsewhere: [] });
  });

  test("K2 lose credentials in maps by name, by form and by being in .env, and each is named", async () => {
    const text = [
      ...[
        "terminal:",
        "  # how long",
        "  timeout: 7",
        "  docker_env:",
        "    DEBUG: '1'",
        "    OPENAI_API_KEY: abc",
        "    GITEA_TOKEN: def",
      ],
      ...["    URL: https://me:hidden@host/", "    OTHER: correct-horse", "    LIKE: sk-0123456789abcdef", ""],
    ].join("\n");
    const { text: left, leftOut } = await clean(text);
    expect(leftOut).toEqual(["OPENAI_API_KEY", "GITEA_TOKEN", "URL", "OTHER", "LIKE"].map((name) => `terminal.docker_env.${name}`));
    expect(left).toBe('terminal:\n  # how long\n  timeout: 7\n  docker_env: {"DEBUG": "1"}\n');
  });

  test("K2 lose a map that is nothing but credentials, and a list or text that holds one", async () => {
    const text =
      "terminal:\n  docker_env: {HF_TOKEN: x}\n  docker_extra_args: ['-e', 'MY_PASSWORD=x']\n  cwd: /tmp/correct-horse\n  timeout: 7\n";
    const { text: left, leftOut } = await clean(text);
    expect(leftOut).toEqual(
      ["terminal.docker_env", "terminal.docker_extra_args", "terminal.cwd"].map((key) => expect.stringContaining(key)),
    );
    expect(left).toBe("terminal:\n  timeout: 7\n");
  });

  test.each([["# OPENAI_API_KEY: abc"], ["# was correct-horse"], ["# sk-0123456789abcdef"]])(
    "K2 lose all comments when %j is one",
    async (comment) => {
      const { text, leftOut } = await clean(`${comment}\nterminal:\n  timeout: 7 ${comment}\n  ${comment}\n`);
      expect(text).toBe("terminal:\n  timeout: 7\n");
      expect(leftOut).toEqual([expect.stringContaining("comments")]);
    },
  );

  test.each([
    "postgres://me:hidden@db/x",
    "postgres://me:a/hidden@db/x",
    "postgres://me:a@hidden:b%@db/x",
    "postgres://db/x?user=me&password=hidden",
    "postgres://db/x?pass%77ord=hidden",
    "postgres://me@db/x?sslpassword=hidden",
    "host=db password=hidden",
    "password='a hidden' host=db",
  ])("K2 lose the password in %s wherever it stands, and a comment or document with one", async (place) => {
    const text = JSON.stringify(place);
    const { text: left, leftOut } = await clean(
      `terminal:\n  timeout: 7\n  cwd: ${text}\n  docker_env: {A: b, C: ${text}}\nworker:\n  command: [psql, ${text}]\n  env: {PGPASSWORD: hidden}\n`,
    );
    expect(left).toBe('terminal:\n  timeout: 7\n  docker_env: {"A": "b"}\nworker:\n');
    expect(leftOut).toEqual(["terminal.cwd", "terminal.docker_env.C", "worker.command", "worker.env.PGPASSWORD"]);
    expect((await clean(`# see ${place}\nterminal:\n  timeout: 7\n`)).text).toBe("terminal:\n  timeout: 7\n");
    expect(search.inText(`how to\n  psql ${text}\n`)).toBe(true);
  });

  test("K2 keep the place of a database without a password", async () => {
    const text = "kanban:\n  database: postgres://me@db:5432/x?passfile=/home/me/.pgpass # no password\n";
    expect(await clean(text)).toEqual({ text, leftOut: [], elsewhere: [] });
  });

  test("K2 that cannot be read cannot be searched", async () => {
    await expect(clean("terminal: [")).rejects.toMatchObject({ code: "config-syntax" });
    await expect(clean("terminal:\n  nosuch: 1\n")).rejects.toMatchObject({ code: "config-unknown-key" });
  });
});

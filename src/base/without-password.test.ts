import { describe, expect, test } from "vitest";
import { describeError, HoldfastError } from "./errors.ts";
import { holdsPassword, urlWithoutPassword, withoutPassword, withoutPasswords } from "./without-password.ts";

/** Each with what is left of it. */
const HIDDEN: readonly (readonly [string, string])[] = [
  ["postgres://me:PASS@db:5432/x", "postgres://me:***@db:5432/x"],
  ["POSTGRESQL://me:PASS@db/x", "POSTGRESQL://me:***@db/x"],
  ["postgres://:PASS@/x?host=%2Ftmp", "postgres://:***@/x?host=%2Ftmp"],
  ["postgres://me:PASS@[::1]:5432/x", "postgres://me:***@[::1]:5432/x"],
  ["postgres://me@corp:PASS@db/x", "postgres://me@corp:***@db/x"],
  ["postgres://me:PA/PASS@db/x", "postgres://me:***@db/x"],
  ["postgres://me:PA@PASS@db/x", "postgres://me:***@db/x"],
  ["postgres://me:PA:PASS@db/x", "postgres://me:***@db/x"],
  ["postgres://me:PA PASS PASS@db/x", "postgres://me:***@db/x"],
  ["mysql://me:PA PASS@db/x", "mysql://me:***@db/x"],
  ["postgres://me:PA%2FPASS%zz@db/x", "postgres://me:***@db/x"],
  ["postgres://me:PA?PASS#PASS@db/x", "postgres://me:***@db/x"],
  ["postgres://me:PA'PASS\"@db/x", "postgres://me:***@db/x"],
  ["postgres://db/x?password=PASS", "postgres://db/x?password=***"],
  ["postgres://db/x?user=me&password=PASS&sslmode=require", "postgres://db/x?user=me&password=***&sslmode=require"],
  ["postgres://db/x?pass%77ord=PASS", "postgres://db/x?pass%77ord=***"],
  ["postgres://db/x?password=PA/PASS@PASS:PASS%25", "postgres://db/x?password=***"],
  ["postgres://db:5432/x?password=PA@PASS:PASS&sslmode=require", "postgres://db:***&sslmode=require"],
  ["postgres://me:PA?password=PASS@db/x", "postgres://me:***"],
  ["postgres://me@db/x?sslpassword=PASS&passfile=/home/me/.pgpass", "postgres://me@db/x?sslpassword=***&passfile=/home/me/.pgpass"],
  ["postgres://me@db/x?oauth_client_secret=PASS&scram_client_key=PASS", "postgres://me@db/x?oauth_client_secret=***&scram_client_key=***"],
  ["postgress://me:PASS@db/x", "postgress://me:***@db/x"],
  ["mysql:/me:PASS@db/x", "mysql:/me:***@db/x"],
  ["postgres:me:PASS@db/x", "postgres:me:***@db/x"],
  ["jdbc:postgresql://db/x?user=me&password=PASS", "jdbc:postgresql://db/x?user=me&password=***"],
  ["https://me:PASS@example.org/x.git", "https://me:***@example.org/x.git"],
  ["host=db user=me password=PASS dbname=x", "host=db user=me password=*** dbname=x"],
  ["host=db password = 'PA \\' PASS' dbname=x", "host=db password = *** dbname=x"],
  ["password=PA\\ PASS host=db", "password=*** host=db"],
  ["host=db sslpassword=PASS passfile=/x", "host=db sslpassword=*** passfile=/x"],
];

describe("K2 a password", () => {
  test.each(HIDDEN)("is taken out of %s, alone and within a sentence", (text, left) => {
    expect(withoutPassword(text)).toBe(left);
    expect(withoutPassword(`the board in ${text} cannot be used`)).toBe(`the board in ${left} cannot be used`);
    expect(withoutPassword(`"${text}": cannot be used`)).not.toContain("PASS");
    expect(withoutPassword(left)).toBe(left);
    expect([holdsPassword(`see\n${text}\nfor it`), holdsPassword(left)]).toEqual([true, false]);
  });

  test("with blanks is taken out of a text that is a URL as a whole", () => {
    expect(urlWithoutPassword(" postgres://me:PA PASS@db/x")).toBe("postgres://me:***@db/x");
    expect(urlWithoutPassword("postgres://db/x?password=PA PASS&y=1")).toBe("postgres://db/x?password=***&y=1");
    for (const value of ["postgres://db/a b", " a: b", "/a b:/c", "host=a b"]) expect(urlWithoutPassword(value)).toBe(value);
  });

  test.each([
    "postgres://me@db:5432/x?passfile=/home/me/.pgpass",
    "https://db:8080/@me/x",
    "see https://example.org/a?b=c#d, or mail me@example.org",
    "the image postgres:16@sha256:0123",
    "dir:/srv/work",
    "postgres://db:5432/x and me@db",
    "https://db:port me@db",
    "the password was wrong",
    "/srv/password=x/board.db",
  ])("is not looked for in vain in %s", (text) => {
    expect(withoutPassword(text)).toBe(text);
    expect(holdsPassword(text)).toBe(false);
  });

  test("is no secret of a line of a program, where it has a name only", () => {
    expect(holdsPassword('connect(host=db, password=os.environ["X"])')).toBe(false);
    expect(holdsPassword("read -s password; export PGPASSWORD=$password")).toBe(false);
  });

  test("is in no error, whatever its message, hint, facts and those of others quote", () => {
    const url = "postgres://me:PASS@db/x";
    const error = new HoldfastError("internal", `no ${url}`, { hint: `not ${url}`, facts: { url, all: [{ url }], when: new Date(0) } });
    expect(JSON.stringify([error, error.message, error.stack])).not.toContain("PASS");
    expect(error.facts).toEqual({ url: "postgres://me:***@db/x", all: [{ url: "postgres://me:***@db/x" }], when: new Date(0) });
    expect(describeError(new Error(url))).toBe("postgres://me:***@db/x");
    expect(withoutPasswords({ url })).toEqual({ url: "postgres://me:***@db/x" });
  });
});

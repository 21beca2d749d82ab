/**
 * @module The seam between the board and its database. Kysely writes the SQL and checks its types, but does not run it: most statements are
 * compiled once and then only get their values, which is several times quicker.
 */
import type { CompiledQuery, Kysely } from "kysely";
import type { WriteOptions } from "./patience.ts";
import type { Tables } from "./schema.ts";

export type DialectName = "sqlite" | "postgres";

export interface Database extends AsyncDisposable {
  readonly dialect: DialectName;
  /** For people, without a password. */
  readonly location: string;
  /** Builds queries; it cannot run them. */
  readonly build: Kysely<Tables>;
  /**
   * Runs `work` in one transaction. It may run more than once: when the database broke a tie between two writers, everything begins anew.
   * @throws what `work` throws, after everything was undone
   */
  write<T>(work: (session: Session) => Promise<T>, options?: WriteOptions): Promise<T>;
  /** Without a transaction: two statements may see different states. */
  read<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** As `read`, but of the events it sees no one with a smaller id will come later. It may wait a moment for those who write. */
  readSettled<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Calls `signal` soon after somebody, in whatever process, has committed something that was announced. It may call once too often. */
  watch(signal: () => void, onError: (error: unknown) => void): Promise<AsyncDisposable>;
  /** A statement of no other use: a pragma, a step of a migration. */
  execute(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** One transaction. */
export interface Session {
  readonly dialect: DialectName;
  /** Nobody else writes while this transaction lasts, so there is nothing to lock. */
  readonly alone: boolean;
  readonly build: Kysely<Tables>;
  all<Values extends object, Row>(statement: Statement<Values, Row>, values: Values): Promise<Row[]>;
  /** How many rows it changed. */
  run<Values extends object>(statement: Statement<Values, unknown>, values: Values): Promise<number>;
  /**
   * As `run`, but nobody waits for it before the end of the transaction, which fails with it. What comes after it sees what it has done.
   * `check` throws when it changed another number of rows than it must have.
   */
  defer<Values extends object>(statement: Statement<Values, unknown>, values: Values, check?: (changed: number) => void): void;
  /** Whoever watches the board needs to know of this transaction. */
  announce(): void;
  query<Row>(query: CompiledQuery<Row>): Promise<Row[]>;
  /** How many rows it changed. */
  change(query: CompiledQuery<unknown>): Promise<number>;
}

/** A query with named holes for its values. */
export interface Statement<Values extends object, Row> {
  readonly name: string;
  readonly form: (dialect: DialectName, build: Kysely<Tables>) => Form<Values>;
  /** Never set; it carries the type of the rows. */
  readonly row?: Row;
}

/** A statement as one database understands it. */
export interface Form<Values extends object> {
  readonly sql: string;
  readonly bind: (values: Values) => unknown[];
}

type Query<Row> = { compile(): CompiledQuery<Row> };

export type Holes<Values extends object> = <Name extends keyof Values & string>(name: Name) => Values[Name];

/** What stands in a compiled query until there is a value. */
interface Hole {
  readonly hole: string;
}

let count = 0;

export function statement<Values extends object, Row = unknown>(
  make: (build: Kysely<Tables>, hole: Holes<Values>) => Query<Row>,
): Statement<Values, Row> {
  const forms = new Map<DialectName, Form<Values>>();
  count += 1;
  return {
    name: `holdfast_${count}`,
    form(dialect, build) {
      const known = forms.get(dialect);
      if (known !== undefined) return known;
      const hole = ((name: string): Hole => ({ hole: name })) as unknown as Holes<Values>;
      const { sql, parameters } = make(build, hole).compile();
      const form = { sql, bind: binder<Values>(parameters) };
      forms.set(dialect, form);
      return form;
    },
  };
}

export async function first<Row>(rows: Promise<readonly Row[]>): Promise<Row | undefined> {
  return (await rows)[0];
}

/** Puts values into their places, among those that never change. */
function binder<Values extends object>(parameters: readonly unknown[]): Form<Values>["bind"] {
  const holes = parameters.flatMap((each, index) => (isHole(each) ? [{ index, name: each.hole as keyof Values }] : []));
  return (values) => {
    const bound = parameters.slice();
    for (const { index, name } of holes) bound[index] = values[name] ?? null;
    return bound;
  };
}

function isHole(value: unknown): value is Hole {
  return typeof value === "object" && value !== null && "hole" in value;
}

/** @module What came of settling a workspace. */
import type { Workspaces } from "../workspace.ts";

export type Settled = Awaited<ReturnType<Workspaces["settle"]>>;

/** @module Options that every backend, or several, understand (contract section G). */
import * as z from "zod/mini";
import { option } from "../base/option.ts";
import { BACKENDS } from "./backends.gen.ts";
import { missingDriverHint } from "./backends.ts";

/** Timers hold no more milliseconds than fit in 31 bits. */
export const LONGEST_SECONDS = 2_147_483;

const seconds = z.int().check(z.minimum(0), z.maximum(LONGEST_SECONDS));
const megabytes = z.int().check(z.minimum(0));

export const sandboxOptions = {
  backend: option(z.enum(BACKENDS), {
    default: "local",
    help: "Where sandboxes run: local is this machine; memory is for tests, nothing in it survives the process",
    hint: missingDriverHint,
  }),
  cwd: option(z.nullable(z.string()), {
    default: null,
    help: "Directory in which new sessions begin; not set, or `.`: the caller's directory on local, the backend's own elsewhere",
  }),
  persistent_shell: option(z.boolean(), {
    default: true,
    help: "Calls continue their session; false: each begins anew, and nothing of it but files and processes stays",
  }),
  timeout: option(z.number().check(z.positive(), z.maximum(LONGEST_SECONDS)), {
    default: 180,
    help: "Seconds that a command may run before it and all it started are ended; fractions are allowed",
  }),
  daemon: option(z.enum(["auto", "off", "required"]), {
    default: "auto",
    help: "Use holdfastd in sandboxes, for quick calls, background processes and terminals: auto uses it where it was built, required fails without it",
  }),
  lifetime_seconds: option(seconds, {
    default: 300,
    help: "Seconds without use after which a process lets go of a sandbox; one that does not persist is then removed; 0 = as soon as nobody uses it",
  }),
  idle_stop_seconds: option(seconds, {
    default: 0,
    help: "Seconds without use after which a sandbox stops itself, its files staying; 0 = never; its background processes count as use",
  }),
  sandbox_dir: option(z.nullable(z.string()), {
    default: null,
    help: "Directory for the files of sandboxes; not set: `sandboxes` in the profile's home",
  }),
  label_prefix: option(z.string().check(z.regex(/^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,30}[A-Za-z0-9])?$/)), {
    default: "holdfast",
    help: "Beginning of the labels that mark containers as ours",
    expected: "1 to 32 letters, digits, `_`, `.` or `-`, beginning and ending with a letter or digit",
  }),
  output_limit: option(z.int().check(z.minimum(1000), z.maximum(100_000_000)), {
    default: 50_000,
    help: "Characters of a command's output kept in memory: the first 40 % and the last 60 %",
  }),
  spill_limit_mb: option(megabytes, {
    default: 256,
    help: "Megabytes of a command's output kept in a file when it exceeds output_limit; 0 = keep no such file",
  }),
  container_cpu: option(z.number().check(z.minimum(0)), {
    default: 1,
    help: "Containers: CPU cores a sandbox may use; fractions are allowed; 0 = unlimited",
  }),
  container_memory: option(megabytes, {
    default: 5120,
    help: "Containers: megabytes of memory a sandbox may use; 0 = unlimited",
  }),
  container_disk: option(megabytes, {
    default: 51_200,
    help: "Containers: megabytes of disk a sandbox may use, where the storage can limit it; 0 = unlimited",
  }),
  container_limits: option(z.enum(["lenient", "strict"]), {
    default: "lenient",
    help: "Containers: when a limit cannot be applied, warn (lenient) or fail (strict)",
  }),
  container_persistent: option(z.boolean(), {
    default: true,
    help: "Containers: keep the files in workspace and home when a container goes; `sandbox rm --files` removes them",
  }),
};

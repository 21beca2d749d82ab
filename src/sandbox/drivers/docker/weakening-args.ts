/** @module Finds what a user's own arguments for `run` take away from the hardening of a container. */
import { posix } from "node:path";
import { splitShortFlags } from "./short-flags.ts";

interface Argument {
  /** As written: one argument, or a flag and its value with a space between. */
  readonly text: string;
  readonly flag: string;
  readonly value: string;
}

type Judge = (value: string) => boolean;

const always: Judge = () => true;
const joinsHost: Judge = (value) => /^(?:host|container:|ns:)/.test(value);
const isTrue: Judge = (value) => !/^(?:false|f|0)$/i.test(value);

/** Capabilities that containers have anyway. */
const HARMLESS_CAPABILITIES = new Set(["DAC_OVERRIDE", "CHOWN", "FOWNER"]);
const HIGHEST_PIDS = 256;
/** The engine's own socket gives whoever can open it the whole host. */
const ENGINE_SOCKET = /(?:docker|podman|containerd|crio)\.sock/;
const SYSTEM_DIRECTORY = /^\/(?:boot|dev|etc|home|lib|lib64|opt|proc|root|run|sbin|bin|srv|sys|usr|var|var\/run|var\/lib|Users)?\/?$/;

const WEAKENING: Readonly<Record<string, Judge>> = {
  "--privileged": isTrue,
  "--cap-add": (value) => !HARMLESS_CAPABILITIES.has(value.toUpperCase().replace(/^CAP_/, "")),
  "--security-opt": (value) => /[=:]unconfined$|^label[=:]disable$|^no-new-privileges[=:](?!true)|^unmask[=:]/i.test(value),
  "--pid": joinsHost,
  "--ipc": joinsHost,
  "--uts": joinsHost,
  "--userns": joinsHost,
  "--cgroupns": joinsHost,
  "--network": joinsHost,
  "--cgroup-parent": always,
  "--device": always,
  "--device-cgroup-rule": always,
  "--gpus": always,
  "--group-add": (value) => /^(?:0|root|docker|disk|keep-groups)$/.test(value),
  "--oom-kill-disable": isTrue,
  "--pids-limit": (value) => !(Number(value) > 0 && Number(value) <= HIGHEST_PIDS),
  "--tmpfs": (value) =>
    /^\/(?:tmp|run|var\/tmp)\/?:(?:.*,)?(?:suid|dev)\b/.test(value) || /^\/(?:run|var\/tmp)\/?:(?:.*,)?exec\b/.test(value),
  "--volume": (value) => reachesHost(value.split(":")[0] ?? ""),
  "--mount": (value) => reachesHost(/(?:^|,)"?(?:source|src)=([^,"]*)/i.exec(value)?.[1] ?? ""),
  "--env-host": isTrue,
  "--volumes-from": always,
};

const OTHER_SPELLINGS: Readonly<Record<string, string>> = { "--net": "--network", "-v": "--volume" };
/** Flags that stand alone unless a value is attached. */
const SWITCHES = new Set(["--privileged", "--oom-kill-disable", "--env-host"]);

/** Those of the arguments that weaken the hardening, as they were written. With `network` false, every other network does. */
export function weakeningArgs(given: readonly string[], { network = true }: { network?: boolean } = {}): string[] {
  const weakens = ({ flag, value }: Argument) =>
    flag === "--network" && !network ? value !== "none" : Object.hasOwn(WEAKENING, flag) && WEAKENING[flag]?.(value) === true;
  const extraArgs = splitShortFlags(given);
  return extraArgs.flatMap((_, index) => {
    const argument = readArgument(extraArgs, index);
    return argument !== null && weakens(argument) ? [argument.text] : [];
  });
}

function readArgument(args: readonly string[], index: number): Argument | null {
  const text = args[index] ?? "";
  const match = /^(?<long>--[a-z-]+)(?:=(?<value>.*))?$/s.exec(text) ?? /^(?<short>-v)(?:=?(?<value>.+))?$/s.exec(text);
  const { long, short, value: attached } = match?.groups ?? {};
  const name = long ?? short;
  if (name === undefined) return null;
  const flag = OTHER_SPELLINGS[name] ?? name;
  if (attached !== undefined || SWITCHES.has(flag)) return { text, flag, value: attached ?? "true" };
  const value = args[index + 1] ?? "";
  return { text: `${text} ${value}`, flag, value };
}

/** Whether what is mounted gives a container the engine, or a directory of the system. */
export function reachesHost(source: string): boolean {
  return ENGINE_SOCKET.test(source) || (source.startsWith("/") && SYSTEM_DIRECTORY.test(posix.normalize(source)));
}

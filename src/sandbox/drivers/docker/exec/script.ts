/**
 * @module The shell text around a program that is started by a plain `exec` in a container, and the command that keeps such a container
 * running. It needs no more than a POSIX shell, `cat`, `sleep` and /proc; each text is one line, so that a list of processes shows it as one.
 */
import { quoteWord } from "../../../quote.ts";
import { FRAME_CLOSE, FRAME_OPEN } from "./frames.ts";

/** Values travel under these names, which mean nothing to an engine's client or to a shell, and get their own names in the last moment. */
const CARRIER = "HOLDFAST_CARRY_";
const VALID_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** How lists of processes show what is ours: the first words of a shell's text, and arguments that nobody else would give. */
const OWN = ": holdfast-own;";
const OWN_SHELL = new RegExp(`^(?:sh|bash --norc -p) -c ${OWN}`);
/** Without arguments: one of them that is just ending, since the end of a program is told before the shell around it has ended. */
const ENDING = /^\[(?:sh|bash|cat)\]/;
const COPY = "cat -u -- -";
const FOR_EVER = "sleep 2000000011";

const frame = (text: string, ...words: string[]) =>
  `printf '${octal(FRAME_OPEN)}%s ${text}${octal(FRAME_CLOSE)}' "$hf_t" ${words.join(" ")}`;

/** TERM would be ignored by a first process that does not ask for it; and somebody may end every `sleep`. */
export const STAY_COMMAND: readonly string[] = ["sh", "-c", `${OWN} trap 'exit 0' TERM; while :; do ${FOR_EVER} & wait $!; done`];

/** Whether a process with these arguments, as one line, is there because of how we start programs. */
export function isOwnCommand(line: string): boolean {
  return OWN_SHELL.test(line) || ENDING.test(line) || line === COPY || line === FOR_EVER;
}

/**
 * Around the program, until it has ended: tells its end behind all that it wrote. The copying keeps a pipe open that a background process
 * still writes to, which would be killed by its next word otherwise. What the shell itself says of a program that was killed is dropped.
 */
const AROUND = `${OWN} hf_t=$1 hf_b=$2; shift 2; hf_run() { { (exec 2>&6 6>&-; exec "$@"); hf_s=$?; ${frame("=%s", '"$hf_s"')};`;
const APART = `${frame("=%s", '"$hf_s"')} >&6; } 6>&2 2>/dev/null; }; exec 3>&1 4>&2;
{ { hf_run SHELL "$hf_b" sh "$hf_t" "$$" "$@" 2>&1 >&5 3>&- 4>&- 5>&- | ${COPY} >&4 3>&- 4>&- 5>&-; } 5>&1; } | ${COPY} 3>&- 4>&-`;
const MERGED = `} 6>&2 2>/dev/null; }; hf_run SHELL "$hf_b" sh "$hf_t" "$$" "$@" 2>&1 | ${COPY}`;

/** Podman's client gives up on the output, too, when nobody reads the input any more. */
const DRAIN = `; ${COPY} >/dev/null`;

/** Its last act is to become the program. Names are looked up on the container's own path, not on that of the given variables. */
const BEGIN = `hf_t=$1 hf_o=$2; shift 2; hf_no() { ${frame("-%s", '"$1"')}; exit 0; };`;
const FIND = `hf_p=; case $1 in '') ;; */*) hf_p=$1 ;; *)
set -f; IFS=:; for hf_d in $PATH; do if [ -f "$hf_d/$1" ] && [ -x "$hf_d/$1" ]; then hf_p=$hf_d/$1; break; fi; done; set +f; unset IFS ;; esac;
{ [ -f "$hf_p" ] && [ -x "$hf_p" ]; } || hf_no program; shift; set -- "$hf_p" "$@";`;

/** Runs each line of its input, and says how it ended. */
export const ERRANDS_SCRIPT = oneLine(`${OWN} hf_t=$1; hf_n=$(printf '\\nx'); hf_n=\${hf_n%x};
while IFS= read -r hf_l; do eval "$hf_l" </dev/null; hf_s=$?; ${frame("=%s", '"$hf_s"')}; ${frame("=%s", '"$hf_s"')} >&2; done`);

export interface ExecRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly merge: boolean;
  /** Whether it has input. */
  readonly input: boolean;
  /** Separates what the shells say from what the program says. */
  readonly token: string;
  /** What the program gets on top of the container's own variables, or instead of them. */
  readonly env: Readonly<Record<string, string>>;
  /** Of the container's own variables, unless they are to be inherited. */
  readonly unset: readonly string[];
  /** Not secret, and seen by nobody before the program itself. */
  readonly marks: Readonly<Record<string, string>>;
}

export interface ExecLine {
  /** Behind the name of the container. */
  readonly argv: string[];
  /** For `-e`, with the values in the client's own variables. */
  readonly carried: Record<string, string>;
}

export function execLine({ argv, cwd, merge, input, token, env, unset, marks }: ExecRequest): ExecLine {
  const names = Object.keys(env);
  const odd = names.filter((name) => !VALID_NAME.test(name));
  const valid = names.filter((name) => VALID_NAME.test(name));
  // Most shells drop variables whose names they could not write; bash passes them on, and a client that is a script of another shell does not.
  const shell = odd.length > 0 ? "bash --norc -p -c" : "sh -c";
  const carriers = valid.map((name) => CARRIER + name);
  const gone = ["PWD", "OLDPWD", "SHLVL", "_", ...unset].filter((name) => !names.includes(name));
  const begin = [
    oneLine(BEGIN),
    `cd -- ${quoteWord(cwd)} 2>/dev/null || hf_no directory;`,
    oneLine(FIND),
    // bash sets these for every program that it becomes.
    `[ -z "\${BASH_VERSION-}" ] || case $1 in *=*) ;; *) set -- "$(command -v env)" ${gone.map((name) => `-u ${quoteWord(name)}`).join(" ")} "$@" ;; esac;`,
    `${frame("+%s %s", "$$", '"$hf_o"')}; ${merge ? "" : `${frame("+%s %s", "$$", '"$hf_o"')} >&2;`}`,
    `unset hf_t hf_o hf_p hf_d ${gone.filter((name) => name !== "_" && VALID_NAME.test(name)).join(" ")};`,
    ...valid.map((name) => `export ${name}="$${CARRIER}${name}";`),
    ...Object.entries(marks).map(([name, value]) => `export ${name}=${quoteWord(value)};`),
    `${carriers.length > 0 ? `unset ${carriers.join(" ")};` : ""} exec "$@"`,
  ];
  const around = `${AROUND} ${merge ? MERGED : APART}${input ? DRAIN : ""}`.replace("SHELL", shell);
  return {
    argv: [...shell.split(" "), oneLine(around), "sh", token, begin.join(" "), ...argv],
    carried: Object.fromEntries([...valid.map((name) => [CARRIER + name, env[name] ?? ""]), ...odd.map((name) => [name, env[name] ?? ""])]),
  };
}

function oneLine(script: string): string {
  return script.replaceAll("\n", " ");
}

function octal(byte: number): string {
  return `\\${byte.toString(8).padStart(3, "0")}`;
}

/** @module The bash text around every call: it restores a session, runs the command, and saves the session whatever way the command ends. */

/**
 * Variables that Holdfast itself sets on a process; they say which call it belongs to and must not outlive it in a session.
 * `HOLDFAST_ENV_<NAME>` carries the value of a one-call variable, since an argument list is visible to everyone.
 */
export const CALL_VARIABLE = "HOLDFAST_CALL";
export const SANDBOX_VARIABLE = "HOLDFAST_SANDBOX";
export const ONE_CALL_PREFIX = "HOLDFAST_ENV_";

const UNSAVED = "unsaved: ";

// One argument of a Linux process may not be longer than 128 KiB; longer commands travel in a file.
export const LONGEST_COMMAND_ARGUMENT = 100_000;

/**
 * Writes the session to standard output. Runs in a subshell of the shell whose state it is, so nothing it unsets is missed by anyone.
 * Functions come last, because one of them may be called like a builtin; the last line proves that the file is whole.
 */
const DUMP = `
builtin unset -f trap __holdfast_end
builtin unset ${CALL_VARIABLE} ${SANDBOX_VARIABLE}
builtin declare -px && builtin alias -p && builtin printf '__holdfast_saved_cwd=%q\\n' "$PWD" &&
builtin declare -f && builtin declare -Fx && builtin printf '__holdfast_whole=1\\n'`;

const GO = `
__holdfast_go() {
  builtin local to="$1"
  if [[ $to == '~' || $to == '~/'* ]]; then to=$HOME\${to:1}; fi
  CDPATH= builtin cd -- "$to" 2>/dev/null
}`;

/**
 * $2 state file, $3 result file, $4 directory for this call or nothing, $5 names of one-call variables, $6 command, or nothing: then $7 is
 * a file that holds it.
 *
 * A command may set its own EXIT trap, so \`trap\` is shadowed: ours stays and runs the command's. The state is saved first, because a
 * trap may end the shell with \`exit\`. Everything is called through \`builtin\`, since a session may hold functions of any name.
 */
const CALL_PRELUDE = `
builtin printf 'started\\0' >"$3" || builtin exit 125
if [[ ! -r $2 ]]; then builtin printf 'no-session\\0' >"$3"; builtin exit 125; fi
__holdfast_command=$6
if [[ -z $6 ]]; then
  IFS= builtin read -r -d '' __holdfast_command <"$7"
  builtin command rm -f -- "$7"
fi
builtin shopt -u sourcepath
builtin . "$2" >/dev/null 2>&1
if [[ -z \${__holdfast_whole-} ]]; then builtin printf 'damaged\\0' >"$3"; builtin exit 125; fi
__holdfast_state=$2 __holdfast_result=$3 __holdfast_exit= __holdfast_lost= __holdfast_found= __holdfast_restore=
__holdfast_old=\${OLDPWD-} __holdfast_to=$__holdfast_saved_cwd
until CDPATH= builtin cd -- "$__holdfast_to" 2>/dev/null || [[ $__holdfast_to == / ]]; do
  __holdfast_lost=$__holdfast_saved_cwd __holdfast_to=\${__holdfast_to%/*}
  __holdfast_to=\${__holdfast_to:-/}
done
if [[ -n $__holdfast_lost ]]; then __holdfast_found=$PWD; fi
if [[ -n $__holdfast_old ]]; then builtin export OLDPWD="$__holdfast_old"; fi
__holdfast_home=
if [[ -n $4 ]]; then
  __holdfast_home=$PWD
  ${GO.trim()}
  if ! __holdfast_go "$4"; then builtin printf 'bad-cwd\\0' >"$3"; builtin exit 125; fi
  builtin unset -f __holdfast_go
fi
IFS=' ' builtin read -r -a __holdfast_names <<<"$5"
for __holdfast_name in "\${__holdfast_names[@]}"; do
  if [[ -v $__holdfast_name ]]; then __holdfast_restore+="\${!__holdfast_name@A};"; else __holdfast_restore+="builtin unset $__holdfast_name;"; fi
  __holdfast_value=${ONE_CALL_PREFIX}$__holdfast_name
  builtin export "$__holdfast_name=\${!__holdfast_value}"
  builtin unset "$__holdfast_value"
done
builtin unset __holdfast_saved_cwd __holdfast_whole __holdfast_to __holdfast_old __holdfast_name __holdfast_names __holdfast_value
trap() {
  if ((BASH_SUBSHELL > 0)) || [[ $# -eq 0 || ( $1 == -* && $1 != - && $1 != -- ) ]]; then builtin trap "$@"; return; fi
  if [[ $1 == -- ]]; then builtin shift; fi
  builtin local action="$1" name others
  others=()
  if [[ $# -eq 1 ]]; then action=-; else builtin shift; fi
  for name in "$@"; do
    case $name in
      EXIT | exit | 0) if [[ $action == - ]]; then __holdfast_exit=; else __holdfast_exit=$action; fi ;;
      *) others+=("$name") ;;
    esac
  done
  if [[ \${#others[@]} -gt 0 ]]; then builtin trap -- "$action" "\${others[@]}"; fi
}
__holdfast_end() {
  builtin local saved=saved cwd="\${__holdfast_home:-$PWD}"
  if ! (
    builtin umask 077
    builtin eval "$__holdfast_restore"
    PWD=$cwd
    { ${DUMP.trim()}; } >|"$__holdfast_state.$$" && PATH=/usr/bin:/bin:$PATH builtin exec mv -f -- "$__holdfast_state.$$" "$__holdfast_state"
  ) 2>|"$__holdfast_result"; then
    saved=$(<"$__holdfast_result")
    saved="${UNSAVED}\${saved:-unknown reason}"
    builtin command -p rm -f -- "$__holdfast_state.$$"
  fi
  builtin printf '%s\\0' ended "$cwd" "$__holdfast_lost" "$__holdfast_found" "$saved" >|"$__holdfast_result"
}
builtin trap '{ __holdfast_status=$? __holdfast_flags=$-; builtin set +xveu; builtin trap - DEBUG ERR RETURN; __holdfast_end; } 2>/dev/null
if [[ -n $__holdfast_exit ]]; then
  if [[ $__holdfast_flags == *x* ]]; then builtin set -x; fi
  (builtin exit "$__holdfast_status"); builtin eval "$__holdfast_exit"
fi' EXIT
builtin shopt -s expand_aliases
builtin set --`;

/** $2 state file, $3 result file, $4 directory in which the session begins. The first of two simultaneous starters wins. */
const START_SCRIPT = `
${GO.trim()}
if ! __holdfast_go "$4"; then builtin printf 'bad-cwd\\0' >|"$3"; builtin exit 125; fi
builtin unset -f __holdfast_go
builtin umask 077
if ( { ${DUMP.trim()}; } >|"$2.$$" ) && { builtin command -p ln -- "$2.$$" "$2" || [[ -e $2 ]]; } 2>|"$3"; then builtin printf 'made\\0' >|"$3"; fi
builtin command -p rm -f -- "$2.$$"`;

export interface CallScript {
  stateFile: string;
  resultFile: string;
  commandFile: string;
  /** Null: the command is in `commandFile`. */
  command: string | null;
  cwd: string | null;
  oneCallNames: readonly string[];
}

/** Two evals on the first line, so that bash counts the lines of the command from 1 in its messages. */
export function callArgv({ stateFile, resultFile, commandFile, command, cwd, oneCallNames }: CallScript): string[] {
  const run = 'eval "$1" && eval "$__holdfast_command"';
  const names = oneCallNames.join(" ");
  return [
    "bash",
    "--noprofile",
    "--norc",
    "-c",
    run,
    "bash",
    CALL_PRELUDE,
    stateFile,
    resultFile,
    cwd ?? "",
    names,
    command ?? "",
    commandFile,
  ];
}

export function startArgv(options: { stateFile: string; resultFile: string; cwd: string; login: boolean }): string[] {
  const { stateFile, resultFile, cwd, login } = options;
  const shell = login ? ["bash", "--login"] : ["bash", "--noprofile", "--norc"];
  return [...shell, "-c", 'eval "$1"', "bash", START_SCRIPT, stateFile, resultFile, cwd];
}

/** What the shell had to say about itself, from the result file. */
export type ShellReport =
  | { kind: "made" | "started" | "no-session" | "damaged" | "bad-cwd" }
  | { kind: "ended"; cwd: string; recovered: { from: string; to: string } | null; unsaved: string | null };

/** Null when the shell said nothing at all: it was never started or could not write. */
export function parseReport(bytes: Uint8Array | null): ShellReport | null {
  const [kind, cwd = "", from = "", to = "", saved = ""] = Buffer.from(bytes ?? [])
    .toString("utf8")
    .split("\0");
  switch (kind) {
    case "made":
    case "started":
    case "no-session":
    case "damaged":
    case "bad-cwd":
      return { kind };
    case "ended":
      return { kind, cwd, recovered: from ? { from, to } : null, unsaved: saved.startsWith(UNSAVED) ? saved.slice(UNSAVED.length) : null };
    default:
      return null;
  }
}

/** @module The bash text around every call: it restores a session, runs the command, and saves the session whatever way the command ends. */
import { UNSAVED } from "./report.ts";

/**
 * Variables that Holdfast itself sets on a process; they say which call it belongs to and must not outlive it in a session.
 * `HOLDFAST_ENV_<NAME>` carries the value of a one-call variable, since an argument list is visible to everyone.
 */
export const CALL_VARIABLE = "HOLDFAST_CALL";
export const SANDBOX_VARIABLE = "HOLDFAST_SANDBOX";
export const ONE_CALL_PREFIX = "HOLDFAST_ENV_";

// One argument of a Linux process may not be longer than 128 KiB; longer commands travel in a file.
export const LONGEST_COMMAND_ARGUMENT = 100_000;

/**
 * Writes the session to standard output. Runs in a subshell of the shell whose state it is, so nothing it unsets is missed by anyone.
 * The directory comes first, where nothing that a command named can be mistaken for it. Functions come last, because one of them may be
 * called like a builtin; the last line proves that the file is whole. `export -p`, because `declare -px` succeeds on a full disk.
 * POSIXLY_CORRECT is no ordinary variable but a mode of bash, in which `trap` could not be shadowed; like other modes it ends with the call.
 */
const dump = (cwd: string) =>
  `
builtin unset -f trap __holdfast_end
builtin unset ${CALL_VARIABLE} ${SANDBOX_VARIABLE} POSIXLY_CORRECT
builtin printf '__holdfast_saved_cwd=%q\\n' "${cwd}" && builtin export -p && builtin alias -p &&
builtin declare -f && builtin declare -Fx && builtin printf '__holdfast_whole=1\\n'`.trim();

/** Without a home, `~` leads nowhere. */
const GO = `
__holdfast_go() {
  builtin local to="$1"
  if [[ $to == '~' || $to == '~/'* ]]; then to=\${HOME:-/dev/null}\${to:1}; fi
  if [[ $to != /* ]]; then to=./$to; fi
  builtin cd -- "$to" 2>/dev/null
}`.trim();

/**
 * $2 state file, $3 result file, $4 directory for this call or nothing, $5 command, or nothing: then $6 is a file that holds it; after that
 * the names of one-call variables.
 *
 * Reports overwrite each other in place, which works on a full disk too. The first is `damaged`, so that a state which ends the shell does not pass for a command that ran.
 * Everything is called through `builtin`, since a session may hold functions of any name.
 */
const RESTORE = `
builtin printf 'damaged\\0' >"$3" || builtin exit 125
if [[ ! -r $2 ]]; then builtin printf 'no-session\\0' 1<>"$3"; builtin exit 125; fi
__holdfast_command=$5
if [[ -z $5 ]]; then
  IFS= builtin read -r -d '' __holdfast_command <"$6"
  builtin command rm -f -- "$6"
fi
builtin . "$2" >/dev/null 2>&1
if [[ -z \${__holdfast_whole-} ]]; then builtin exit 125; fi
__holdfast_state=$2 __holdfast_result=$3 __holdfast_exit= __holdfast_lost= __holdfast_found= __holdfast_restore=
__holdfast_old=\${OLDPWD-} __holdfast_to=$__holdfast_saved_cwd
until builtin cd -- "$__holdfast_to" 2>/dev/null || [[ $__holdfast_to != /?* ]]; do
  __holdfast_lost=$__holdfast_saved_cwd __holdfast_to=\${__holdfast_to%/*}
  __holdfast_to=\${__holdfast_to:-/}
done
if [[ -n $__holdfast_lost ]]; then __holdfast_found=$PWD; fi
if [[ -n $__holdfast_old ]]; then builtin export OLDPWD="$__holdfast_old"; fi
__holdfast_home=
if [[ -n $4 ]]; then
  __holdfast_home=$PWD __holdfast_restore="builtin export OLDPWD=\${OLDPWD@Q};"
  ${GO}
  if ! __holdfast_go "$4"; then builtin printf 'bad-cwd\\0' 1<>"$3"; builtin exit 125; fi
  builtin unset -f __holdfast_go
fi`;

/**
 * A command may set its own EXIT trap, so `trap` is shadowed: ours stays, and runs the command's, which is also what `trap -p` shows.
 * A RETURN trap that is set in here would run as soon as this function returns: that first time, it only puts the real one in place.
 */
const TRAP = `
trap() {
  { builtin local -; builtin set +x; } 2>/dev/null
  if [[ $# -eq 0 || $1 == -p ]]; then
    builtin local own= shown="$(builtin trap "$@")"
    if [[ -n $__holdfast_exit ]]; then own="trap -- \${__holdfast_exit@Q} EXIT"; fi
    shown=\${shown/"trap -- '$__holdfast_trap' EXIT"/"$own"}
    if [[ -n $shown ]]; then builtin printf '%s\\n' "\${shown#$'\\n'}"; fi
    return
  fi
  if ((BASH_SUBSHELL > 0)) || [[ $1 == -* && $1 != - && $1 != -- ]]; then builtin trap "$@"; return; fi
  if [[ $1 == -- ]]; then builtin shift; fi
  builtin local action="$1" name others
  others=()
  if [[ $# -eq 1 ]]; then action=-; else builtin shift; fi
  for name in "$@"; do
    case $action/\${name^^} in
      -/EXIT | -/0) __holdfast_exit= ;;
      */EXIT | */0) __holdfast_exit=$action ;;
      -/RETURN) builtin trap - RETURN ;;
      */RETURN) builtin trap -- "builtin trap -- \${action@Q} RETURN" RETURN ;;
      *) others+=("$name") ;;
    esac
  done
  if [[ \${#others[@]} -gt 0 ]]; then builtin trap -- "$action" "\${others[@]}"; fi
}`;

/**
 * The state is saved before the command's own trap runs, because that may end the shell with `exit`; it finds `$?` and tracing as they were.
 * The directory is DIRSTACK's, since a command may set PWD to anything. `exec -c`: no variable of the session can stop `mv`.
 * A function called `builtin` is not kept, since nothing could get past it.
 */
const END = `
__holdfast_end() {
  builtin local saved cwd="\${__holdfast_home:-\${DIRSTACK[0]}}" trace=+x
  if saved=$( {
    builtin umask 077
    builtin eval -- "$__holdfast_restore"
    { ${dump("$cwd")}; } >|"$__holdfast_state.$$" && PATH=/usr/bin:/bin:$PATH builtin exec -c mv -f -- "$__holdfast_state.$$" "$__holdfast_state"
  } 2>&1 ); then
    saved=saved
  else
    saved="${UNSAVED}\${saved:-unknown reason}"
    builtin command -p rm -f -- "$__holdfast_state.$$"
  fi
  builtin printf '%s\\0' ended "$cwd" "$__holdfast_lost" "$__holdfast_found" "$saved" 1<>"$__holdfast_result"
  if [[ $__holdfast_flags == *x* ]]; then trace=-x; fi
  __holdfast_own=
  if [[ -n $__holdfast_exit ]]; then
    __holdfast_own="{ builtin set $trace; (builtin exit $__holdfast_status); } 2>/dev/null"$'\\n'"$__holdfast_exit"
  fi
  __holdfast_exit=
}
__holdfast_trap='{ __holdfast_status=$? __holdfast_flags=$-; unset -f builtin
builtin export -n __holdfast_status __holdfast_flags; builtin set +axveu; builtin trap - DEBUG ERR RETURN; __holdfast_end; } >/dev/null 2>&1
builtin eval -- "$__holdfast_own"'`;

/** Last of all, because a variable may change how bash itself behaves. */
const LAUNCH = `
for __holdfast_name in "\${@:7}"; do
  __holdfast_restore+="builtin unset $__holdfast_name;"
  if [[ -v $__holdfast_name ]]; then __holdfast_restore+="\${!__holdfast_name@A};"; fi
  __holdfast_value=${ONE_CALL_PREFIX}$__holdfast_name
  if ! builtin export "$__holdfast_name=\${!__holdfast_value}" 2>/dev/null; then
    builtin printf 'read-only\\0%s\\0' "$__holdfast_name" 1<>"$3"; builtin exit 125
  fi
  builtin unset "$__holdfast_value"
done
builtin unset __holdfast_saved_cwd __holdfast_whole __holdfast_to __holdfast_old __holdfast_name __holdfast_value
builtin trap -- "$__holdfast_trap" EXIT
builtin shopt -s expand_aliases
builtin printf 'started\\0' 1<>"$3"
builtin set --`;

const CALL_SCRIPT = RESTORE + TRAP + END + LAUNCH;

/** $2 state file, $3 result file, $4 directory in which the session begins. The first of two simultaneous starters wins. */
const START_SCRIPT = `
${GO}
if ! __holdfast_go "$4"; then builtin printf 'bad-cwd\\0' >|"$3"; builtin exit 125; fi
builtin unset -f __holdfast_go
builtin umask 077
if ( { ${dump("$PWD")}; } >|"$2.$$" ) && { builtin command -p ln -- "$2.$$" "$2" || [[ -e $2 ]]; } 2>|"$3"; then builtin printf 'made\\0' >|"$3"; fi
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
  const run = 'builtin eval -- "$1" && builtin eval -- "$__holdfast_command"';
  return [
    "bash",
    "--noprofile",
    "--norc",
    "-c",
    run,
    "bash",
    CALL_SCRIPT,
    stateFile,
    resultFile,
    cwd ?? "",
    command ?? "",
    commandFile,
    ...oneCallNames,
  ];
}

export function startArgv(options: { stateFile: string; resultFile: string; cwd: string; login: boolean }): string[] {
  const { stateFile, resultFile, cwd, login } = options;
  const shell = login ? ["bash", "--login"] : ["bash", "--noprofile", "--norc"];
  return [...shell, "-c", 'eval "$1"', "bash", START_SCRIPT, stateFile, resultFile, cwd];
}

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
 * Finds the directory, which PWD does not tell, since a command may set or freeze it; nor DIRSTACK, once a command has unset it.
 * `x` keeps a line break at the end of the name.
 */
const LOCATE = `
__holdfast_cwd=\${DIRSTACK[0]-}
if [[ ! $__holdfast_cwd -ef . ]]; then
  __holdfast_cwd=$(builtin pwd -L && builtin printf x)
  __holdfast_cwd=\${__holdfast_cwd%$'\\n'x}
fi`.trim();

/**
 * Writes the session to standard output. Where anything of the command still follows, it runs in a subshell, because of what it unsets.
 * The directory comes first, where nothing that a command named can be mistaken for it. Functions come last, because one of them may be
 * called like a builtin; behind all others one called `declare`, since their attributes are set by that word; the last line proves that the
 * file is whole. `export -p`, because `declare -px` succeeds on a full disk.
 * What must not be kept is no longer exported, rather than unset, because that works for read-only variables too: a read-only PWD or
 * OLDPWD would stop every later `cd`. POSIXLY_CORRECT is no ordinary variable but a mode of bash; like other modes it ends with the call.
 */
const DUMP = `
builtin unset -f trap __holdfast_dump __holdfast_end
builtin export -n ${CALL_VARIABLE} ${SANDBOX_VARIABLE} POSIXLY_CORRECT PWD OLDPWD "\${!__holdfast_@}"
__holdfast_declare=
if builtin declare -F declare >/dev/null; then
  __holdfast_declare=$(builtin declare -f declare)
  builtin unset -f declare
fi
[[ -n $__holdfast_cwd ]] &&
builtin printf '__holdfast_saved_cwd=%q\\n__holdfast_saved_old=%q\\n' "$__holdfast_cwd" "\${OLDPWD-}" &&
builtin export -p && builtin alias -p && builtin declare -f && builtin declare -Fx &&
builtin printf '%s\\n' "$__holdfast_declare" __holdfast_whole=1`.trim();

/** Without a home, `~` leads nowhere. Where PWD is read-only, `cd` goes and fails. */
const GO = `
__holdfast_go() {
  builtin local to="$1"
  if [[ $to == '~' || $to == '~/'* ]]; then to=\${HOME:-/dev/null}\${to:1}; fi
  if [[ $to != /* ]]; then to=./$to; fi
  builtin cd -- "$to" 2>/dev/null || [[ $to -ef . ]]
}`.trim();

/** How the shell around a command tells what becomes of it, and where it leaves the state. */
interface Transport {
  /** Runs before anything of the session does. */
  readonly open: string;
  /** Shell text that tells one report; the arguments are shell words. */
  say(kind: string, ...words: string[]): string;
}

/**
 * $3 is a file. Reports overwrite each other in place, which works on a full disk too. The first is `damaged`, so that a state which ends
 * the shell does not pass for a command that ran. `started` stays: the last report comes behind it, so that no command can make itself look
 * as if it did not run.
 */
const BY_FILE: Transport = {
  open: `builtin printf 'damaged\\0' >"$3" || builtin exit 125`,
  say: (...words) => `builtin printf '%s\\0' ${words.join(" ")} 1<>"$3"`,
};

/**
 * Descriptors 3 and 4 lead to the daemon: state and report. The parent of the shell, its keeper, has them too. So the shell closes its own
 * before anything of the session runs, and opens those of the keeper for a moment when it has something to say: no command can inherit,
 * replace or close them. Nothing at all means `damaged`.
 */
const STATE = '>|"/proc/$PPID/fd/3"';
const BY_DAEMON: Transport = {
  // Not as `builtin exec`, which would undo it again.
  open: "exec 3>&- 4>&-",
  say: (...words) => `builtin printf '%s\\0' ${words.join(" ")} >|"/proc/$PPID/fd/4"`,
};

/** Nobody waits for a report of a background process; what goes wrong is in its output. */
const BY_LOG: Transport = {
  open: ":",
  say: (kind, ...words) =>
    kind === "started" ? ":" : `builtin printf 'holdfast: the command did not run: %s\\n' "${[kind, ...words].join(" ")}" >&2`,
};

/** Asked twice, because another process may remove the session before this one has read it. */
const stopIfGone = ({ say }: Transport) => `if [[ ! -e $2 ]]; then ${say("no-session")}; builtin exit 125; fi`;

/**
 * $2 state file, $3 result file, $4 directory for this call or nothing, $5 command, or nothing: then $6 is a file that holds it; after that
 * the names of one-call variables.
 * Everything is called through `builtin`, since a session may hold functions of any name.
 */
const restore = (transport: Transport) => `
${transport.open}
${stopIfGone(transport)}
__holdfast_command=$5
if [[ -z $5 ]]; then
  IFS= builtin read -r -d '' __holdfast_command <"$6"
  builtin command rm -f -- "$6"
fi
builtin . "$2" >/dev/null 2>&1
if [[ -z \${__holdfast_whole-} || -z $__holdfast_saved_cwd ]]; then
  ${stopIfGone(transport)}
  builtin exit 125
fi
__holdfast_exit= __holdfast_lost= __holdfast_found= __holdfast_restore=
__holdfast_old=\${__holdfast_saved_old:-\${OLDPWD-}} __holdfast_to=$__holdfast_saved_cwd
until builtin cd -- "$__holdfast_to" 2>/dev/null || [[ $__holdfast_to -ef . || $__holdfast_to != /?* ]]; do
  __holdfast_lost=$__holdfast_saved_cwd __holdfast_to=\${__holdfast_to%/*}
  __holdfast_to=\${__holdfast_to:-/}
done
if [[ -n $__holdfast_lost ]]; then __holdfast_found=$PWD; fi
if [[ -n $__holdfast_old ]]; then builtin export OLDPWD="$__holdfast_old"; fi
__holdfast_home=
if [[ -n $4 ]]; then
  __holdfast_home=$PWD __holdfast_restore="builtin export OLDPWD=\${OLDPWD@Q};"
  ${GO}
  if ! __holdfast_go "$4"; then ${transport.say("bad-cwd")}; builtin exit 125; fi
  builtin unset -f __holdfast_go
fi`;

/**
 * A command may set its own EXIT trap, so `trap` is shadowed: ours stays, and runs the command's, which is also what `trap -p` shows.
 * A RETURN trap that is set in here would run as soon as this function returns: that first time, it only puts the real one in place.
 */
const TRAP = `
trap() {
  { builtin local -; builtin set +xk; } 2>/dev/null
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
      */RETURN) builtin trap -- "\\\\builtin trap -- \${action@Q} RETURN" RETURN ;;
      *) others+=("$name") ;;
    esac
  done
  if [[ \${#others[@]} -gt 0 ]]; then builtin trap -- "$action" "\${others[@]}"; fi
}`;

/**
 * `exec -c`: no variable of the session can stop `mv`. XFSZ is what a limit on the size of files sends to those who write. Where neither state
 * nor report can be written, the old state takes the report's place, since a link needs no space.
 */
const SAVE_BY_FILE = `
  builtin trap '' XFSZ
  if __holdfast_saved=$( {
    builtin umask 077
    builtin eval -- "$__holdfast_restore"
    { ${DUMP}; } >|"$__holdfast_state.$$" && PATH=/usr/bin:/bin:$PATH builtin exec -c mv -f -- "$__holdfast_state.$$" "$__holdfast_state"
  } 2>&1 ); then
    __holdfast_saved=saved
  else
    __holdfast_saved="${UNSAVED}\${__holdfast_saved:-unknown reason}"
    builtin command -p rm -f -- "$__holdfast_state.$$"
  fi
  builtin printf '%s\\0' ended "$__holdfast_cwd" "$__holdfast_lost" "$__holdfast_found" "$__holdfast_saved" >>"$__holdfast_result" ||
    [[ $__holdfast_saved == saved ]] || builtin command -p ln -f -- "$__holdfast_state" "$__holdfast_result"
  builtin trap - XFSZ`;

/**
 * Without a fork, unless the command has a trap of its own that must find its shell as it left it. The daemon writes the file, and tells
 * whether that worked; it keeps nothing without the zero at the end, which proves that the state is whole.
 */
const SAVE_BY_DAEMON = `
  __holdfast_dump() {
    builtin trap '' HUP INT TERM
    builtin eval -- "$__holdfast_restore"
    { ${DUMP} && builtin printf '\\0'; } ${STATE}
  }
  if [[ -n $__holdfast_exit ]]; then (__holdfast_dump); else __holdfast_dump; fi
  ${BY_DAEMON.say("ended", '"$__holdfast_cwd"', '"$__holdfast_lost"', '"$__holdfast_found"', "saved")}`;

/**
 * The state is saved before the command's own trap runs, because that may end the shell with `exit`; it finds `$?` and tracing as they were.
 *
 * The trap is read after the command, whose aliases and functions may stand for any word. Not for `((`, though, and in posix mode neither
 * aliases for `{` nor functions for `unset`. So that mode comes first, and its variable carries `$?`, which may be 0, over.
 * A function called `builtin` is not kept, since nothing could get past it.
 */
const end = (save: string) => `
__holdfast_end() {
  builtin set +axveuk +o posix
  ${LOCATE}
  __holdfast_cwd=\${__holdfast_home:-$__holdfast_cwd}
  ${save.trim()}
  __holdfast_own=
  if [[ -n $__holdfast_exit ]]; then
    if [[ $2 == *x* ]]; then __holdfast_own=-x; else __holdfast_own=+x; fi
    __holdfast_own="{ builtin shopt -s expand_aliases; builtin set $__holdfast_own; (builtin exit $(($1 - 1))); } 2>/dev/null"$'\\n'"$__holdfast_exit"
  fi
  __holdfast_exit=
}
__holdfast_trap='((POSIXLY_CORRECT=$?+1)) >/dev/null 2>&1
{ \\unset -f builtin; \\builtin trap - DEBUG ERR RETURN; \\__holdfast_end "$POSIXLY_CORRECT" "$-"; } >/dev/null 2>&1
\\builtin eval -- "$__holdfast_own"'`;
const SET_TRAP = 'builtin trap -- "$__holdfast_trap" EXIT';

/** Last of all, because a variable may change how bash itself behaves, and an alias every line that is read from then on. */
const launch = ({ say }: Transport, last = ":") => `
for __holdfast_name in "\${@:7}"; do
  __holdfast_restore+="builtin unset $__holdfast_name;"
  if [[ -v $__holdfast_name ]]; then __holdfast_restore+="\${!__holdfast_name@A};"; fi
  __holdfast_value=${ONE_CALL_PREFIX}$__holdfast_name
  if ! builtin export "$__holdfast_name=\${!__holdfast_value}" 2>/dev/null; then
    ${say("read-only", "$__holdfast_name")}; builtin exit 125
  fi
  builtin unset "$__holdfast_value"
done
builtin unset __holdfast_saved_cwd __holdfast_saved_old __holdfast_whole __holdfast_to __holdfast_old __holdfast_name __holdfast_value
${last}
${say("started")}
builtin set --
builtin shopt -s expand_aliases`;

const SCRIPTS = {
  file: `${restore(BY_FILE)}\n__holdfast_state=$2 __holdfast_result=$3${TRAP}${end(SAVE_BY_FILE)}${launch(BY_FILE, SET_TRAP)}`,
  daemon: restore(BY_DAEMON) + TRAP + end(SAVE_BY_DAEMON) + launch(BY_DAEMON, SET_TRAP),
  process: restore(BY_LOG) + launch(BY_LOG),
};

/** $2 state file, $3 result file, $4 directory in which the session begins. The first of two simultaneous starters wins. */
const START_SCRIPT = `
${GO}
if ! __holdfast_go "$4"; then builtin printf 'bad-cwd\\0' >|"$3"; builtin exit 125; fi
builtin unset -f __holdfast_go
builtin umask 077
IFS=: builtin read -r -a __holdfast_parts <<<"\${__holdfast_path-}"
__holdfast_front=
for __holdfast_part in "\${__holdfast_parts[@]}"; do
  if [[ -n $__holdfast_part && :$__holdfast_front$PATH: != *":$__holdfast_part:"* ]]; then __holdfast_front+=$__holdfast_part:; fi
done
PATH=$__holdfast_front$PATH
${LOCATE}
if ( { ${DUMP}; } >|"$2.$$" ) && { builtin command -p ln -- "$2.$$" "$2" || [[ -e $2 ]]; } 2>|"$3"; then builtin printf 'made\\0' >|"$3"; fi
builtin command -p rm -f -- "$2.$$"`;

export interface CommandScript {
  readonly stateFile: string;
  readonly commandFile: string;
  /** Null: the command is in `commandFile`. */
  readonly command: string | null;
  readonly cwd: string | null;
  readonly oneCallNames: readonly string[];
}

/** A call whose shell reports to a file, and saves the session itself. */
export function callArgv({ resultFile, ...command }: CommandScript & { readonly resultFile: string }): string[] {
  return shellArgv(SCRIPTS.file, resultFile, command);
}

/** A call whose shell hands state and report to the daemon. */
export function daemonCallArgv(command: CommandScript): string[] {
  return shellArgv(SCRIPTS.daemon, "", command);
}

/** A background process: it begins with the session's state, and saves nothing. */
export function processArgv(command: CommandScript): string[] {
  return shellArgv(SCRIPTS.process, "", command);
}

/** Two evals on the first line, so that bash counts the lines of the command from 1 in its messages. */
function shellArgv(script: string, resultFile: string, { stateFile, commandFile, command, cwd, oneCallNames }: CommandScript): string[] {
  const run = 'builtin eval -- "$1" && builtin eval -- "$__holdfast_command"';
  const shell = ["bash", "--noprofile", "--norc", "-c", run, "bash"];
  return [...shell, script, stateFile, resultFile, cwd ?? "", command ?? "", commandFile, ...oneCallNames];
}

export function startArgv(options: { stateFile: string; resultFile: string; cwd: string; login: boolean }): string[] {
  const { stateFile, resultFile, cwd, login } = options;
  const script = ['eval "$1"', "bash", START_SCRIPT, stateFile, resultFile, cwd];
  const plain = ["bash", "--noprofile", "--norc", "-c"];
  // Many systems set PATH anew in /etc/profile; what only the sandbox's own PATH had is put back in front.
  return login ? [...plain, 'export __holdfast_path=$PATH; exec "$BASH" --login -c "$@"', "bash", ...script] : [...plain, ...script];
}

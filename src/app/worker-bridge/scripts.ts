/**
 * @module The three programs of a bridge, as text: what makes its directory, the `holdfast` that workers call in the sandbox, and the relay
 * between those and the supervisor. Nothing of an image is needed but a shell and the plainest programs.
 */

/** How long a worker's call waits for a sign of life from the supervisor. */
export interface Patience {
  /** How often it looks. */
  readonly stepSeconds: number;
  /** After so many looks without a sign it gives up. */
  readonly steps: number;
}

/**
 * Bash, as every call is. Makes the directory named by its first argument where programs may be run, takes the client from standard input,
 * with the directory filled in, and prints where it is.
 */
export const MAKE_DIRECTORY = `
umask 077
client=$(cat && printf x)
client=\${client%x}
for place in /tmp "\${HOME:-/tmp}" /var/tmp; do
  here=\${place%/}/$1
  mkdir "$here" 2>/dev/null || continue
  mkdir "$here/bin" "$here/requests" && mkfifo "$here/ask" &&
  printf '%s' "\${client//@HERE@/$(printf '%q' "$here")}" >"$here/bin/holdfast" && chmod 700 "$here/bin/holdfast" &&
  "$here/bin/holdfast" --probe 2>/dev/null && printf '%s' "$here" && exit 0
  rm -rf "$here"
done
echo 'no directory of the sandbox takes a program, or it has no mkfifo' >&2
exit 1`.trim();

/** What the relay says first. */
export const READY = "ready";

/**
 * Passes on what is written to the pipe, and wakes whoever waits for an answer. Pipes are opened for both directions: that never waits for
 * the other end, which may be dead.
 */
export const RELAY = `
umask 077
here=$1
cat <>"$here/ask" &
printf '%s %s\\n' "$$" "$!" >"$here/relay.new" && mv "$here/relay.new" "$here/relay" || exit 1
printf '%s\\n' ${READY}
count=0
while read -r what status; do
  case $what in
    beat)
      count=$((count + 1))
      printf '%s\\n' "$count" >"$here/beat.new" && mv "$here/beat.new" "$here/beat"
      ;;
    *)
      if [ -p "$here/requests/$what/done" ]; then printf '%s\\n' "$status" 1<>"$here/requests/$what/done"; fi
      ;;
  esac
done
kill "$!" 2>/dev/null`.trim();

/** `@HERE@` is put in by what makes the directory. */
export function clientScript({ stepSeconds, steps }: Patience): string {
  return `${CLIENT.replace("@STEP@", String(stepSeconds)).replace("@STEPS@", String(steps))}\n`;
}

const CLIENT = `
#!/bin/sh
# Hands the verbs of the board to the supervisor of this run, which is outside of the sandbox.
here=@HERE@
umask 077
fail() {
  printf 'error: %s\\n' "$1" >&2
  exit "\${2:-1}"
}
case \${1-} in
  kanban) ;;
  mcp)
    [ $# -le 2 ] && [ "\${2:--}" = - ] || fail 'mcp takes no arguments in here' 2
    # One message a line, each a request of its own.
    if [ $# -eq 1 ]; then
      while line=; IFS= read -r line || [ -n "$line" ]; do
        [ -z "$line" ] || printf '%s' "$line" | "$0" mcp - || exit
      done
      exit 0
    fi
    ;;
  --probe) exit 0 ;;
  *) fail 'only the verbs of the board work in here: holdfast kanban VERB, and holdfast mcp' 2 ;;
esac
[ -p "$here/ask" ] || fail 'nobody answers: this run has ended'
number=0
until mkdir "$here/requests/$$.$number" 2>/dev/null; do
  number=$((number + 1))
  [ "$number" -lt 100 ] || fail 'the request cannot be written in the sandbox'
done
own=$here/requests/$$.$number
give_up() {
  rm -rf "$own"
  fail "$1"
}
mkfifo "$own/done" || give_up 'the request cannot be written in the sandbox'
exec 3<>"$own/done"
input=
for word; do
  case $word in
    - | --*=-) [ -t 0 ] || input=yes ;;
  esac
done
if [ -n "$input" ]; then
  cat >"$own/input" || give_up 'the input cannot be written in the sandbox'
fi
printf '%s\\0' "$(pwd)" "$@" >"$own/args.new" && mv "$own/args.new" "$own/args" || give_up 'the request cannot be written in the sandbox'
relay= listener=
read -r relay listener <"$here/relay"
alive() { kill -0 "$relay" 2>/dev/null && kill -0 "$listener" 2>/dev/null; }
alive || give_up 'nobody answers: the supervisor of this run has ended'
printf '%s\\n' "$$.$number" 1<>"$here/ask"
(
  nap=
  trap 'kill "$nap" 2>/dev/null; exit 0' TERM
  quiet=0
  last=
  while :; do
    sleep @STEP@ &
    nap=$!
    wait "$nap"
    if ! kill -0 "$$" 2>/dev/null; then
      rm -rf "$own"
      exit 0
    fi
    alive || break
    beat=
    read -r beat <"$here/beat"
    if [ "$beat" = "$last" ]; then quiet=$((quiet + 1)); else quiet=0 last=$beat; fi
    [ "$quiet" -lt @STEPS@ ] || break
  done
  printf 'silence\\n' >&3
) </dev/null >/dev/null 2>&1 &
watch=$!
status=
read -r status <&3
kill "$watch" 2>/dev/null
case $status in
  '' | *[!0-9]*) give_up 'nobody answers: the supervisor of this run has ended or hangs' ;;
esac
cat "$own/out"
cat "$own/err" >&2
rm -rf "$own"
exit "$status"`.trim();

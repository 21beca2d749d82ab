/** @module Ends a program that was started by a plain `exec`, and all that came from it, by a shell in the same container. */
import { CALL_VARIABLE } from "../../../session/script.ts";

const LIMIT_MS = 5_000;

/**
 * The same as `killTree` of host-process-tree.ts, for the same reasons, with nothing but a POSIX shell. $m is in the environment of the
 * tree; $r is its root, and $e says that this one has ended, so that a process with its number is a stranger; $o is the shell around it,
 * whose session and group the tree shares unless it left them; $t is in that shell's arguments. Times are in hundredths of a second.
 * A shell drops the NUL bytes of what it reads from /proc. Processes come in the order of their numbers: a shell whose child is ended first
 * says so.
 */
export const KILL_SCRIPT = `: holdfast-own; exec 2>/dev/null; m=$1 r=$2 e=$3 o=$4 t=$5 g=$6 l=$7 known=' ' seen=
slurp() { s=; while IFS= read -r x || [ "$x" ]; do s="$s$x "; done; } <"$1"
now() { read -r u _ </proc/uptime; f=\${u#*.}; n=$(( \${u%.*} * 100 + 1$f - 100 )); }
has() { case $1 in *" $2 "*) return 0 ;; esac; return 1; }
own() { slurp "/proc/$1/cmdline"; case $s in sh-c:\\ holdfast-own*|bash--norc-p-c:\\ holdfast-own*|'cat-u--- ') return 0 ;; esac; return 1; }
marked() { slurp "/proc/$1/environ"; case $s in *"$m"*) return 0 ;; esac; return 1; }
look() {
  rows= there=' ' tree=' ' roots=' ' left=
  for d in /proc/[0-9] /proc/[0-9][0-9] /proc/[0-9][0-9][0-9] /proc/[0-9][0-9][0-9][0-9] /proc/[0-9][0-9][0-9][0-9]?*; do
    slurp "$d/stat" || continue
    p=\${d#/proc/}; set -f; set -- \${s##*) }; set +f
    case $1 in ''|Z|X) continue ;; esac
    [ "$p" = "$$" ] && continue
    there="$there$p "; rows="$rows $p/$2/$3/$4/\${20}"
    has "$known" "$p:\${20}" && tree="$tree$p "
  done
  for k in $known; do
    p=\${k%:*}
    if ! has "$there" "$p" || has "$tree" "$p"; then roots="$roots$p "; fi
  done
  if ! has "$there" "$r"; then roots="$roots$r "; elif [ "$e" = 0 ]; then roots="$roots$r "; has "$tree" "$r" || tree="$tree$r "; fi
  if ! has "$there" "$o"; then roots="$roots$o "; elif slurp "/proc/$o/cmdline"; then case $s in *"$t"*) roots="$roots$o " ;; esac; fi
  more=1
  while [ "$more" ]; do
    more=
    for row in $rows; do
      p=\${row%%/*}; row=\${row#*/}; parent=\${row%%/*}; row=\${row#*/}; group=\${row%%/*}; row=\${row#*/}; session=\${row%%/*}
      has "$tree" "$p" && continue
      if has "$tree" "$parent" || { { has "$roots" "$group" || has "$roots" "$session"; } && ! own "$p"; } || { [ -z "$seen" ] && marked "$p"; }; then
        tree="$tree$p "; more=1
      fi
    done
    seen=1
  done
  seen=
  for row in $rows; do
    p=\${row%%/*}
    if has "$tree" "$p"; then left="$left $p"; has "$known" "$p:\${row##*/}" || known="$known$p:\${row##*/} "; fi
  done
}
nap() { sleep 0.02 || sleep 1; }
look; [ "$left" ] || exit 0
kill -TERM $left; kill -CONT $left
now; end=$((n + g))
while look; [ "$left" ]; do now; [ "$n" -lt "$end" ] || break; nap; done
now; end=$((n + l))
while look; [ "$left" ]; do
  now; if [ "$n" -gt "$end" ]; then echo $left; exit 1; fi
  kill -STOP $left; kill -KILL $left; nap
done
exit 0`;

export interface KillRequest {
  readonly call: string;
  readonly root: number;
  readonly rootEnded: boolean;
  readonly around: number;
  readonly token: string;
  readonly graceMs: number;
}

/** The command, and how long it may take. */
export function killLine({ call, root, rootEnded, around, token, graceMs }: KillRequest): { argv: string[]; limitMs: number } {
  const words = [`${CALL_VARIABLE}=${call}`, root, rootEnded ? 1 : 0, around, token, Math.ceil(graceMs / 10), LIMIT_MS / 10];
  // Starting it takes time, too, above all on a busy machine.
  return { argv: ["sh", "-c", KILL_SCRIPT, "sh", ...words.map(String)], limitMs: graceMs + 6 * LIMIT_MS };
}

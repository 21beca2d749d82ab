#!/bin/sh
# Installs the dependencies and builds dist/, each only when missing or older than what it is made from.
# Called by ./holdfast and, with the word `install`, by ./check; `install` leaves the build out.
set -u
what=${1-all}
unset CDPATH
# Somebody may call with an empty one.
export PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}"
cd -P -- "$(dirname -- "$0")/.." || exit 125
. ./scripts/stale.sh

say() { printf 'holdfast: %s\n' "$1" >&2; }

fail() {
  say "$1"
  printf 'hint: %s\n' "$2" >&2
  exit 125
}

main() {
  # The lock file is tried as well: a shell ends at once, with words of its own, when it cannot open what `exec` names.
  { mkdir -p .cache && [ -w . ] && [ -w .cache ] && true >>.cache/setup.lock; } 2>/dev/null ||
    fail "this clone has to be set up or built again, but $PWD cannot be written" "run it once as its owner, make it writable for $(id -un), or clone it somewhere else"
  lock
  if install_is_stale .; then install; fi
  if [ "$what" = all ] && build_is_stale .; then build; fi
}

# Two first uses at once must not install into each other. The kernel drops a flock when its holder dies, however it dies.
lock() {
  if command -v flock >/dev/null; then
    exec 9>.cache/setup.lock
    flock -n 9 && return
    say "waiting for another process that is setting up this clone"
    flock 9
  else
    lock_with_directory
  fi
}

lock_with_directory() {
  until mkdir .cache/setup.lock.d 2>/dev/null; do
    holder=$(cat .cache/setup.lock.d/pid 2>/dev/null)
    if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
      fail "process $holder ended while it was setting up this clone" "remove $PWD/.cache/setup.lock.d and try again"
    fi
    sleep 1
  done
  echo $$ >.cache/setup.lock.d/pid
  trap 'rm -rf .cache/setup.lock.d' EXIT
  trap 'exit 125' HUP INT TERM
}

install() {
  for program in node npm; do
    command -v $program >/dev/null || fail "$program is not installed, and setting up needs it" "install Node 18 or newer with npm, for example: apt-get install nodejs npm"
  done
  major=$(node -p 'process.versions.node.split(".")[0]' </dev/null)
  [ "${major:-0}" -ge 18 ] || fail "node on the PATH is version ${major:-unknown}, and setting up needs 18 or newer" "install a newer Node; Holdfast then brings its own"

  say "installing dependencies into $PWD/node_modules (once, about 20 seconds)"
  # The flags undo what a user's own npm settings may say: without development packages or scripts there would be no node here.
  HOLDFAST_INSTALL_ONLY=1 npm ci --include=dev --ignore-scripts=false --no-audit --no-fund --no-update-notifier --loglevel=error \
    </dev/null >.cache/install.log 2>&1 || fail_with_log .cache/install.log "npm could not install the dependencies" "check the network and npm's registry setting, then try again"
}

build() {
  say "building"
  node_modules/node/bin/node scripts/build.ts </dev/null >.cache/build.log 2>&1 ||
    fail_with_log .cache/build.log "the build failed" "the lines above say where; after a change of the sources, correct that place"
  # A notice of the build that a person should see although it worked.
  grep '^holdfast: ' .cache/build.log >&2
  # Fills the compile cache, which makes the next start faster. If these fail, the command that the user runs next says why.
  for flag in --version --help; do
    node_modules/node/bin/node dist/holdfast.js $flag </dev/null >/dev/null 2>&1
  done
}

fail_with_log() {
  cat "$1" >&2
  fail "$2" "$3"
}

main
exit 0

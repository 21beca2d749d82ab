# What has to be made again. Read by ./holdfast at every start, and by scripts/setup.sh once it holds the lock.
# shellcheck shell=sh
# shellcheck disable=SC3013  # -nt is young in POSIX, but dash, bash, busybox and zsh have long had it.

# npm writes node_modules/.package-lock.json at the very end, so an installation that was cut off is stale too.
install_is_stale() {
  ! [ -x "$1/node_modules/node/bin/node" ] || ! [ -e "$1/node_modules/.package-lock.json" ] ||
    [ "$1/package-lock.json" -nt "$1/node_modules/.package-lock.json" ]
}

# Folders count as well: their time tells when a file was removed. `-p`: also where the caller's PATH leads nowhere.
build_is_stale() {
  ! [ -e "$1/dist/.built" ] || tools_are_better "$1" ||
    [ -n "$(command -p find "$1/src" "$1/holdfastd" "$1/scripts" "$1/package.json" "$1/package-lock.json" "$1/tsconfig.json" "$1/tsconfig.build.json" -name corpus -prune -o -newer "$1/dist/.built" -print)" ]
}

# Better tools for the daemon may have come since it was built. What has failed with all of them is not tried at every start.
tools_are_better() {
  built_with=
  read -r built_with <"$1/dist/.built"
  case $built_with in
    cc) command -v musl-gcc ;;
    nothing) command -v make && { command -v musl-gcc || command -v cc; } ;;
    *) false ;;
  esac >/dev/null
}

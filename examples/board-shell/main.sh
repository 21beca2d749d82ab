#!/bin/sh
# Two profiles whose workers are shell scripts, three linked tasks, and a board that empties itself.
set -eu
here=$(cd -P -- "$(dirname -- "$0")" && pwd)
PATH=$(cd -P -- "$here/../.." && pwd):$PATH
scratch=$(mktemp -d)
# A home of its own, so that the example touches nothing of yours.
export HOLDFAST_HOME="$scratch/home"
cd "$scratch"

main() {
  trap clean_up EXIT
  trap 'exit 130' INT TERM
  for profile in writer editor; do holdfast profile create "$profile"; done
  holdfast -p writer config set worker.command "[\"sh\", \"$here/write.sh\"]"
  holdfast -p editor config set worker.command "[\"sh\", \"$here/edit.sh\"]"

  holdfast kanban dispatch --watch &
  dispatcher=$!
  draft=$(holdfast kanban create 'Write a report' --assignee writer)
  review=$(holdfast kanban create 'Judge the report' --assignee editor --parent "$draft")
  final=$(holdfast kanban create 'Write the last version' --assignee writer --parent "$review")
  until_done 3

  holdfast kanban list
  holdfast kanban show "$final"
  holdfast kanban log "$draft" | grep -q "working on $draft in"
  holdfast kanban attachments "$draft" | grep -q report.txt
  holdfast kanban runs "$review" | grep -q 'the report is good'
}

until_done() {
  for _ in $(seq 100); do
    board=$(holdfast kanban list)
    case $board in
      *"DONE ($1)"*) return ;;
      *BLOCKED*) break ;;
    esac
    sleep 1
  done
  echo "the board did not empty itself: $board" >&2
  exit 1
}

# Deleting a profile also ends what runs in its sandboxes, and removes them.
clean_up() {
  status=$?
  trap - EXIT
  if [ -n "${dispatcher:-}" ]; then
    kill "$dispatcher"
    wait "$dispatcher" || true
  fi
  for profile in writer editor; do holdfast profile delete "$profile" --confirm "$profile" || status=1; done
  cd /
  rm -rf "$scratch"
  exit "$status"
}

main

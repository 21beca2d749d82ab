/** @module The completion script for bash. */

/**
 * Bash cuts words at `=` and `:` and replaces only what follows the last of them, so words are put together again as they stand on the
 * line, and answers are cut back. Candidates are quoted the way bash would have them typed; words before them lose their quotes.
 */
export const BASH_COMPLETION = `
# Completion of holdfast in bash. To have it in every shell, put this line into ~/.bashrc:
#   source <(holdfast completion bash)
_holdfast() {
  local program=\${COMP_WORDS[0]}
  if [[ $program == \\~/* ]]; then program=$HOME/\${program:2}; fi
  if ! type -P -- "$program" >/dev/null; then program=holdfast; fi

  local rest=\${COMP_LINE:0:COMP_POINT} words=() starts=() index word
  for ((index = 0; index <= COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    if ((index == 0)) || [[ $rest == [[:space:]]* ]]; then
      rest=\${rest#"\${rest%%[![:space:]]*}"}
      words+=('')
      starts+=("$index")
    fi
    if ((index == COMP_CWORD)); then word=$rest; fi
    words[-1]+=$word
    rest=\${rest:\${#word}}
  done
  local current=\${words[-1]}
  words=("\${words[@]:1:\${#words[@]}-2}")
  words=("\${words[@]//[\\"\\'\\\\]/}")

  local answer=() line value quoted cut=
  mapfile -t answer < <("$program" __complete "\${words[@]}" "$current" 2>/dev/null)
  COMPREPLY=()
  case \${answer[0]-} in
    'command '*)
      index=\${answer[0]#command }
      if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "\${starts[index]}"
      elif declare -F _command_offset >/dev/null; then
        _command_offset "\${starts[index]}"
      elif ((index == \${#words[@]} + 1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
      else
        compopt -o default
      fi
      ;;
    directories)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -d -- "\${current#--*=}")
      ;;
    files)
      compopt -o default
      ;;
    words)
      if [[ $COMP_WORDBREAKS == *=* && $current == *=* ]]; then cut=\${current%"\${current##*=}"}; fi
      if [[ $COMP_WORDBREAKS == *:* && \${current#"$cut"} == *:* ]]; then cut=\${current%"\${current##*:}"}; fi
      for line in "\${answer[@]:1}"; do
        value=\${line%%$'\\t'*}
        printf -v quoted %q "$value"
        if [[ $value == "$current"* || $quoted == "$current"* ]]; then COMPREPLY+=("\${quoted#"$cut"}"); fi
      done
      if [[ \${COMPREPLY[0]-} == *= ]]; then compopt -o nospace; fi
      ;;
  esac
}
complete -F _holdfast holdfast
`.trimStart();

/** @module The completion script for zsh. */

/** Works both ways: read by `source`, and as a file called `_holdfast` in a directory of `fpath`, where its first use runs it. */
export const ZSH_COMPLETION = `
#compdef holdfast
# Completion of holdfast in zsh. To have it in every shell, put this line into ~/.zshrc, after compinit:
#   source <(holdfast completion zsh)
_holdfast() {
  local program=\${~\${(Q)words[1]}}
  if ! whence -p -- $program >/dev/null; then program=holdfast; fi

  local -a answer candidates no_space
  local line value meaning
  answer=("\${(@f)$($program __complete "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  case $answer[1] in
    'command '*)
      local -i skip=\${answer[1]#command }
      shift $skip words
      (( CURRENT -= skip ))
      _normal
      ;;
    directories)
      compset -P '--*='
      _files -/
      ;;
    files)
      _files
      ;;
    words)
      for line in $answer[2,-1]; do
        value=\${line%%$'\\t'*} meaning=\${line#*$'\\t'}
        candidates+=("\${value//:/\\\\:}\${meaning:+:$meaning}")
      done
      if [[ $value == *= ]]; then no_space=(-S ''); fi
      _describe -t holdfast holdfast candidates "\${(@)no_space}"
      ;;
  esac
}
if [[ $funcstack[1] == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
`.trimStart();

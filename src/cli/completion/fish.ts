/** @module The completion script for fish. */

export const FISH_COMPLETION = `
# Completion of holdfast in fish. To have it in every shell:
#   holdfast completion fish > ~/.config/fish/completions/holdfast.fish
function __holdfast_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~/' $HOME/ -- $words[1])
    set -l typed (string unescape -- "$current")
    set -l answer (command $program __complete $words[2..] "$typed" 2>/dev/null)
    switch "$answer[1]"
        case 'command *'
            set -l skip (string replace 'command ' '' -- $answer[1])
            complete -C (string join ' ' -- (string escape -- $words[(math $skip + 1)..]) "$current" | string collect)
        case directories
            set -l prefix (string match -r '^--[^=]+=' -- "$current")
            string replace -r -- '^' "$prefix" (__fish_complete_directories (string replace -- "$prefix" '' "$current"))
        case files
            __fish_complete_path "$current"
        case words
            string join \\n -- $answer[2..]
    end
end
complete -c holdfast -f -a '(__holdfast_complete)'
`.trimStart();

# Completes PROGRAM in fish: `PROGRAM completion fish | source`, or this file as
# ~/.config/fish/completions/PROGRAM.fish.
function __PROGRAM_completion
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l lines ($words[1] __complete fish $words "$word" 2>/dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$word")
        case folders
            __fish_complete_directories (string replace -r '^--[^=]*=' '' -- "$word")
    end
    printf '%s\n' $lines[2..-1]
end
complete -c PROGRAM -f -a '(__PROGRAM_completion)'

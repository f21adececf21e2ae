# Completes PROGRAM in bash: `eval "$(PROGRAM completion bash)"`, or this file in
# ~/.local/share/bash-completion/completions/PROGRAM.
_PROGRAM_completion() {
    local line kind=""
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ -z $kind ]]; then
            kind=$line
        else
            COMPREPLY+=("$line")
        fi
    done < <("$1" __complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    case $kind in
        files | folders)
            compopt -o filenames 2>/dev/null
            local how=-f
            [[ $kind == folders ]] && how=-d
            while IFS= read -r line; do
                COMPREPLY+=("$line")
            done < <(compgen "$how" -- "$2")
            ;;
    esac
}
complete -F _PROGRAM_completion PROGRAM

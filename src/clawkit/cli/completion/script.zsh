#compdef PROGRAM
# Completes PROGRAM in zsh: `source <(PROGRAM completion zsh)` after `compinit`, or this file as
# _PROGRAM in a folder of $fpath.
_PROGRAM() {
    local -a lines values
    local line kind
    lines=("${(@f)$("$words[1]" __complete zsh "${(@Q)words[1,CURRENT]}" 2>/dev/null)}")
    kind=$lines[1]
    for line in "${(@)lines[2,-1]}"; do
        values+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    (( $#values )) && _describe -V PROGRAM values
    case $kind in
        files) compset -P '*='; _files ;;
        folders) compset -P '*='; _files -/ ;;
    esac
}
if [[ $funcstack[1] == _PROGRAM ]]; then
    _PROGRAM "$@"
else
    compdef _PROGRAM PROGRAM
fi

# Completion in fish of the options of all commands, as their --help has them. It is loaded by the
# name of a command: the others' names are links to this file.
# SPDX-License-Identifier: BSD-3-Clause

# The long options of a command, each with the beginning of what --help says of it.
function __sci_options
    set -l words (commandline -opc)
    $words[1] --help 2>/dev/null |
        string replace -rf '^ {2,6}(?:-.(?: [A-Z]+)?, )?(--[a-z][a-z-]*)(?:\[?=\S*)?(?: {2,}(.*))?$' '$1\t$2'
end

# Behind "--" stands the command line of another program.
function __sci_is_ours
    not contains -- -- (commandline -opc)
end

# Other words are names of files, as everywhere.
function __sci_is_option
    __sci_is_ours; and string match -q -- '-*' (commandline -ct)
end

function __sci_command
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    complete -C (string join ' ' -- $words[(math $at + 1)..-1] (commandline -ct))
end

for name in sci-analyze sci-export sci-import sci-kernel sci-merge sci-record sci-top
    complete -c $name -n __sci_is_option -a '(__sci_options)'
    complete -c $name -n 'not __sci_is_ours' -a '(__sci_command)'
end

# Completion in fish of the options of all commands, taken from their --help. fish loads it by the
# name of the command: the other names are links to this file.
# SPDX-License-Identifier: BSD-3-Clause

# The long options of a command, each with the first line of its text in --help.
function __sci_options
    set -l words (commandline -opc)
    $words[1] --help 2>/dev/null |
        string replace -rf '^ {2,6}(?:-.(?: [A-Z]+)?, )?(--[a-z][a-z-]*)(?:\[?=\S*)?(?: {2,}(.*))?$' '$1\t$2'
end

# After "--" comes the command line of another program.
function __sci_is_ours
    not contains -- -- (commandline -opc)
end

# Other words are file names, the default.
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

# Completion of kiln for bash: commands and options come from its own --help, so they are always
# those of the installed version; names of volumes come from the server.

_kiln_help() {
	command kiln "$@" --help 2>/dev/null
}

# Commands of one level: of `kiln`, or of a group such as `kiln volume`.
_kiln_commands() {
	_kiln_help "$@" | awk -v group="${1-}" '
		/^Commands:/ { on = 1; next }
		/^$/ { on = 0 }
		on && group == "" { print $1 }
		on && group != "" { print $2 }' | sort -u
}

_kiln_options() {
	_kiln_help "$@" | grep -Eo -- '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,' | sort -u
}

# Words that an option takes: "--durability fsync|op" in the help.
_kiln_choices() {
	local option=$1
	shift
	_kiln_help "$@" | sed -n "s/^ .*$option \([a-z]*|[a-z|]*\).*/\1/p" | tr '|' '\n'
}

_kiln_volumes() {
	command kiln volume list --json 2>/dev/null |
		sed -n 's/^ *"name": "\([A-Za-z0-9._-]*\)",*$/\1/p'
}

# The first operands of each command; further ones are files.
_kiln_operands() {
	case $1 in
	'volume info' | 'volume set' | 'volume rename' | 'volume delete' | mount)
		[ "$2" -gt 0 ] || _kiln_volumes
		;;
	help)
		[ "$2" -gt 0 ] || _kiln_commands
		;;
	esac
	if [ "$1" = 'volume set' ] && [ "$2" -gt 0 ]; then
		printf '%s\n' durability=fsync durability=op cache=ttl cache=none read-only=yes \
			read-only=no quota= inodes=
	fi
}

_kiln() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i=2 operands=0 words
	local command=(${COMP_WORDS[1]})

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_kiln_commands) --help --version" -- "$cur")
		return
	fi
	if [ "${command[0]}" = volume ]; then
		if [ "$COMP_CWORD" = 2 ]; then
			mapfile -t COMPREPLY < <(compgen -W "$(_kiln_commands volume) --help" -- "$cur")
			return
		fi
		command+=("${COMP_WORDS[2]}")
		i=3
	fi
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_kiln_options "${command[@]}")" -- "$cur")
		return
	fi
	words=
	[[ $prev != --* ]] || words=$(_kiln_choices "$prev" "${command[@]}")
	for ((; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -* ]] || operands=$((operands + 1))
	done
	[ -n "$words" ] || words=$(_kiln_operands "${command[*]}" "$operands")
	# bash splits words at '=': what is left to complete is the value alone
	if [ "$cur" = = ] || [ "$prev" = = ]; then
		[ "$cur" != = ] || { prev= cur=; words=$(grep "^${COMP_WORDS[COMP_CWORD - 1]}=" <<<"$words"); }
		[ "$prev" != = ] || words=$(grep "^${COMP_WORDS[COMP_CWORD - 2]}=" <<<"$words")
		words=$(cut -d= -f2 <<<"$words")
	fi
	if [ -n "$words" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
	else
		compopt -o default
	fi
}

complete -F _kiln kiln

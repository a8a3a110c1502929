# Completion in bash: commands, options, their words, names of volumes.
. "$KILN_TESTS/lib.sh"
server_start
volume_create alpha
volume_create beta
PATH=$KILN_BUILD:$PATH
compopt() { :; }
. "$KILN_TOP/tools/completion/kiln.bash"

# complete_to EXPECTED WORD...: what is offered for the last word, sorted.
complete_to() {
	local want=$1
	shift
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_kiln || true
	expect_eq "$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | xargs)" "$want" "$*"
}

complete_to 'status' kiln st
complete_to '--help create delete info list rename set' kiln volume ''
complete_to '--backend' kiln serve d --b
complete_to 'mem rocksdb' kiln serve d --backend ''
complete_to 'fsync op' kiln volume create x --durability ''
complete_to 'alpha beta' kiln volume delete ''
complete_to 'beta' kiln mount b
complete_to 'quota=' kiln volume set alpha q
complete_to 'fsync op' kiln volume set alpha durability =
complete_to 'op' kiln volume set alpha durability = o
server_stop

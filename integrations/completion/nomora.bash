# SPDX-License-Identifier: BSD-3-Clause
# bash completion of nomora: commands and options come from the programs' own tables (nomora COMMAND --complete).

_nomora() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} rows argument values i
	local -a command=("${COMP_WORDS[0]}")

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
		case ${COMP_WORDS[i]} in -* | */* | *.*) break ;; esac
		command+=("${COMP_WORDS[i]}")
	done
	# The second word is a subcommand (nomora lab up) or an operand.
	rows=$("${command[@]}" --complete 2>/dev/null) || {
		unset 'command[2]'
		rows=$("${command[@]}" --complete 2>/dev/null) || return 0
	}
	while IFS=$'\x1f' read -r name argument values _; do
		[ "$name" = "$previous" ] || continue
		[ -n "$argument" ] || break
		if [ -n "$values" ]; then
			mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
		elif [[ $argument == *FILE* || $argument == *DIR* || $argument == *.html || $argument == *PATH* ]]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
		fi
		return 0
	done <<<"${rows//$'\t'/$'\x1f'}"
	if [[ $current == -* || $rows != --* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(cut -f 1 <<<"$rows")" -- "$current")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
	fi
}
complete -o filenames -F _nomora nomora

# SPDX-License-Identifier: BSD-3-Clause
# Runs on each machine, at most once a second (machine.c): its functions, then the agent's orders. A run is one start of
# a task. Its folder runs/RUN has
#   pid      the wrapper's process id, start time and boot: "0 0 -" if the start was cut off, and can no longer begin
#   verdict  "exit CODE" or "killed"; whoever links the file first decides how the run has ended
#   output   of the task's command
# A folder is made and a file is linked only once, so a repeated order has no effect.
# The wrapper leads a session of its own, and so outlives the agent.
wrapper='r=$1; shift
echo "$$ $(set -- $(cat /proc/$$/stat); echo ${22}) $(cat /proc/sys/kernel/random/boot_id)" >"$r/pid.new"
ln "$r/pid.new" "$r/pid" || exit
trap : TERM
cd "${HOME:-/}" || cd /
"$@"
echo "exit $?" >"$r/verdict.exit"
ln "$r/verdict.exit" "$r/verdict"'

# enter FOLDER TOKEN TAKE: the orders of an agent that has lost the machine to a later one, or that come late over a
# connection that was given up, have an old token. TAKE is 1 for the first orders with a token.
enter() {
	umask 077
	mkdir -p "$1/runs" "$1/ended" && cd "$1" && exec 9>lock && flock -w 5 9 || exit 1
	if [ "$3" = 1 ]; then
		find ended -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} +
		echo "$2" >token.new && mv token.new token || exit 1
	fi
	[ "$(cat token)" = "$2" ] || { echo "another agent has taken over"; exit 1; }
}

# lives FOLDER: sets p, the process of the wrapper, and tells whether it lives
lives() {
	if ! [ -e "$1/pid" ]; then
		echo "0 0 -" >"$1/pid.none"
		ln "$1/pid.none" "$1/pid" 2>/dev/null
	fi
	read -r p start boot <"$1/pid"
	[ "$boot" = "$(cat /proc/sys/kernel/random/boot_id)" ] || p=0
	[ "$p" != 0 ] && set -- $(cat "/proc/$p/stat" 2>/dev/null) && [ "${22:-}" = "$start" ] && [ "$3" != Z ]
}

# start RUN COMMAND...
start() {
	mkdir "runs/$1" 2>/dev/null || return
	r=$PWD/runs/$1
	shift
	setsid sh -c "$wrapper" sh "$r" "$@" </dev/null >"$r/output" 2>&1 9>&- &
	n=0
	until [ -e "$r/pid" ] || [ $((n += 1)) -gt 500 ]; do sleep 0.01; done
}

# stop RUN GRACE: SIGTERM, and SIGKILL after GRACE seconds
stop() {
	lives "runs/$1" || return
	if ! [ -e "runs/$1/verdict" ]; then
		echo killed >"runs/$1/verdict.kill"
		ln "runs/$1/verdict.kill" "runs/$1/verdict" && kill -TERM "-$p"
	elif [ $(($(date +%s) - $(date -r "runs/$1/verdict" +%s))) -ge "$2" ]; then
		kill -KILL "-$p"
	fi
} 2>/dev/null

# clean RUN: of a run that does not live
clean() {
	rm -rf "ended/$1"
	mv "runs/$1" "ended/$1"
}

# flows SESSION RUN ...: prints "flow RUN LOCAL PEER BYTES" for each TCP connection of the runs; the peer has acknowledged
# BYTES. Addresses are written as on the other side: IPv4 in an IPv6 socket as IPv4, without interface and brackets.
flows() {
	ss -OtinpH state connected 2>/dev/null | awk -v runs="$*" '
	BEGIN { n = split(runs, word, " "); for (i = 1; i < n; i += 2) run[word[i]] = word[i + 1] }
	function session(pid,   file, text, field) {
		file = "/proc/" pid "/stat"
		if (!(pid in sessions)) {
			sessions[pid] = (getline text <file) > 0 && sub(/.*\) /, "", text) && split(text, field, " ") > 3 ? field[4] : 0
			close(file)
		}
		return sessions[pid]
	}
	{
		found = bytes = ""
		for (rest = $6; match(rest, /pid=[0-9]+/) && found == ""; rest = substr(rest, RSTART + RLENGTH))
			if (session(substr(rest, RSTART + 4, RLENGTH - 4)) in run)
				found = run[session(substr(rest, RSTART + 4, RLENGTH - 4))]
		if (match($0, / bytes_acked:[0-9]+/))
			bytes = substr($0, RSTART + 13, RLENGTH - 13)
		gsub(/\[::ffff:|%[^]:]*|[][]/, "", $4)
		gsub(/\[::ffff:|%[^]:]*|[][]/, "", $5)
		if (found != "")
			print "flow", found, $4, $5, bytes == "" ? 0 : bytes
	}'
}

# Prints "RUN alive", "RUN exit CODE", "RUN killed" or "RUN lost"; with an argument, the flows of those alive, too. A
# process group keeps its number while a member lives: if the wrapper is gone, the rest of its group is still that of the
# run.
list() {
	flow=$1
	set --
	for r in runs/*; do
		[ -d "$r" ] || continue
		lives "$r" && alive=1 || alive=
		verdict=$(cat "$r/verdict" 2>/dev/null) || verdict=lost
		case $alive$verdict in 1lost | 1killed)
			echo "${r#runs/} alive"
			set -- "$@" "$p" "${r#runs/}"
			continue
			;;
		esac
		[ "$p" = 0 ] || { [ -e "/proc/$p" ] && [ -z "$alive" ]; } || kill -KILL "-$p" 2>/dev/null
		echo "${r#runs/} $verdict"
	done
	[ -z "$flow" ] || [ $# = 0 ] || flows "$@"
	echo done
}

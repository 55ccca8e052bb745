#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGKILL of the writer of a live matrix, of publisher, collector and NATS server at random moments, 10 (NOMORA_KILLS)
# times: readers never see a torn value, no row gets older, and everything recovers by itself.
. "$(dirname "$0")/lib.sh"

command -v nats-server >/dev/null || skip_all "nats-server is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"
a=$scratch/a b=$scratch/b port=
kills=${NOMORA_KILLS:-10}
RANDOM=19
mkdir "$scratch/ports"
# In every row p99 is twice p50 and max three times p50; p50 and the time are computed from the same number.
cat >"$scratch/write.sh" <<'END'
for ((n = $1; ; n++)); do
	{
		echo 'src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at'
		for i in 1 2 3 4 5 6; do for j in 1 2 3 4 5 6; do echo "h$i,h$j,$n,$((2 * n)),$((3 * n)),0,10,$((1700000000 + n))"; done; done
	} >"$2.csv"
	"$3" mesh merge "$2.csv" --live "$2" || exit
	echo "$n" >"$2.written"
done
END
start() { # writer, server, publisher or collector
	case $1 in
	writer)
		# Starts above every number written so far.
		first=$("$nomora" mesh export "$a" --json 2>/dev/null | jq '[.pairs[].rtt_p50_us] | max // 0 | floor' || :)
		first=$((${first:-0} + 1000))
		setsid bash "$scratch/write.sh" "$first" "$a" "$nomora" >>"$scratch/log" 2>&1 &
		;;
	server)
		rm -f "$scratch"/ports/*
		nats-server -a 127.0.0.1 -p "${port:--1}" --ports_file_dir "$scratch/ports" >>"$scratch/server.log" 2>&1 &
		;;
	publisher) "$nomora" mesh publish "$a" --server "nats://127.0.0.1:$port" --interval 0.01 --all-every 0.5 >>"$scratch/log" 2>&1 & ;;
	collector) "$nomora" mesh collect "$b" --server "nats://127.0.0.1:$port" --hosts 64 --pairs 64 >>"$scratch/log" 2>&1 & ;;
	esac
	process[$1]=$!
	at_exit kill -9 -- "-$!" "$!"
}
listens() { port=$(jq -re '.nats[0]' "$scratch"/ports/*.ports | sed 's/.*://') && [ -n "$port" ]; }
# A server that finds its port taken exits: start it again.
server_runs() { listens || { kill -0 "${process[server]}" || start server; false; }; }
# The writer is a process group, soon after its start: bash, and the program that may be writing.
end() {
	kill -9 -- "-${process[$1]}" 2>/dev/null || kill -9 "${process[$1]}"
	wait "${process[$1]}" 2>/dev/null
}
# Every row is consistent, and none is older than before.
whole() {
	"$nomora" mesh export "$1" --json >"$scratch/now.json" && python3 - "$scratch/now.json" "$1.before" <<-'END'
		import json, os, sys
		pairs = json.load(open(sys.argv[1]))["pairs"]
		before = json.load(open(sys.argv[2])) if os.path.exists(sys.argv[2]) else {}
		for pair in pairs:
		    n, name = pair["rtt_p50_us"], pair["src"] + " " + pair["dst"]
		    if pair["state"] == "never":
		        continue # its writer died while writing it
		    if (pair["rtt_p99_us"], pair["rtt_max_us"], pair["updated_at"]) != (2 * n, 3 * n, 1700000000 + n):
		        sys.exit("torn: %s" % pair)
		    if pair["updated_at"] < before.get(name, 0):
		        sys.exit("older: %s, was %s" % (pair, before[name]))
		    before[name] = pair["updated_at"]
		json.dump(before, open(sys.argv[2], "w"))
	END
}
# A row written from now on arrives.
arrives() {
	local since
	since=$(cat "$a.written" 2>/dev/null || echo 0)
	newer() { "$nomora" mesh export "$b" --json | jq -e "[.pairs[].rtt_p50_us] | max > $since"; }
	wait_for 60 newer
}

declare -A process
start server
wait_for 60 server_runs && pass "a NATS server" || { fail "a NATS server" "$(cat "$scratch/server.log")"; plan; exit; }
start writer
wait_for 60 test -e "$a.written"
start collector
start publisher
check "rows arrive" arrives
parts=(writer server publisher collector)
for ((round = 0; round < kills; round++)); do
	part=${parts[RANDOM % 4]}
	read -rt "0.$((100 + RANDOM % 200))" <> <(:) || :
	end "$part"
	for live in "$a" "$b"; do
		whole "$live" >"$scratch/why" 2>&1 || { fail "round $round: whole after the SIGKILL of $part" "$(cat "$scratch/why")"; plan; exit; }
	done
	start "$part"
	[ "$part" != server ] || wait_for 60 server_runs
done
pass "$kills times SIGKILL: no torn row, none older than before"
check "rows arrive again" arrives
check "and are whole" whole "$b"
plan

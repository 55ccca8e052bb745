#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora mesh publish and collect over a NATS server of our own: rows, changes, refusals, SIGKILL of each side.
. "$(dirname "$0")/lib.sh"

command -v nats-server >/dev/null || skip_all "nats-server is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"
a=$scratch/a b=$scratch/b port=
mkdir "$scratch/ports"
printf '{"schema": "nomora.cluster/1", "machines": [{"name": "h1", "rack": "r1", "slots": 1},
 {"name": "h.2", "rack": "r1", "slots": 1}, {"name": "h3", "rack": "r2", "slots": 1}]}' >"$scratch/cluster.json"
# put SECONDS_AGO P50: writes a mesh measured at that time.
put() {
	local at
	at=$(($(date +%s) - $1))
	{
		echo 'src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at'
		for pair in h1,h.2 h.2,h1 h1,h3 h3,h1; do echo "$pair,$2.25,$(($2 * 2)),$(($2 * 3)),0.01,100,$at"; done
		echo "h.2,h3,,,,1,0,$at"
	} >"$scratch/latency.csv"
	"$nomora" mesh merge "$scratch/latency.csv" --live "$a" --cluster "$scratch/cluster.json"
}
# First on any free port, later on the same one, which another program may have to release first.
start_server() {
	rm -f "$scratch"/ports/*
	nats-server -a 127.0.0.1 -p "${port:--1}" --ports_file_dir "$scratch/ports" >>"$scratch/server.log" 2>&1 &
	server=$!
	at_exit kill -9 "$server"
	wait_for 5 listens && return
	kill -9 "$server"
	wait "$server" 2>/dev/null
	return 1
}
listens() { kill -0 "$server" && port=$(jq -re '.nats[0]' "$scratch"/ports/*.ports | sed 's/.*://') && [ -n "$port" ]; }
start_publisher() {
	"$nomora" mesh publish "$a" --server "nats://127.0.0.1:$port" --interval "${2:-0.05}" --all-every "$1" --json >"$scratch/publish.out" 2>>"$scratch/publish.err" &
	publisher=$!
	at_exit kill -9 "$publisher"
}
start_collector() {
	"$nomora" mesh collect "$b" --server "nats://127.0.0.1:$port" --hosts 64 --json "$@" >"$scratch/collect.out" 2>>"$scratch/collect.err" &
	collector=$!
	at_exit kill -9 "$collector"
}
hard_end() { kill -9 "$1"; wait "$1" 2>/dev/null; }
# The matrices of both, as square tables with the pairs sorted by name.
same() {
	local one
	for one in "$a" "$b"; do
		"$nomora" mesh export "$one" --json | jq -S '.pairs | sort_by(.src, .dst)' >"$one.json" || return 1
		"$nomora" mesh show "$one" >"$one.txt" || return 1
	done
	[ -s "$a.json" ] && cmp -s "$a.json" "$b.json" && cmp -s "$a.txt" "$b.txt"
}
told() { cat "$scratch"/*.err "$scratch/server.log" "$b.txt"; }
arrives() { if wait_for 60 same; then pass "$1"; else fail "$1" "$(told 2>&1)"; fi; }

wait_for 60 start_server && pass "a NATS server" || { fail "a NATS server" "$(cat "$scratch/server.log")"; plan; exit; }
start_publisher 0.5
wait_for 60 grep -q "waiting for its first writer" "$scratch/publish.err" && kill -0 "$publisher" &&
	pass "publish waits for the live matrix" || fail "publish waits for the live matrix" "$(cat "$scratch/publish.err")"
put 1000 10
start_collector --history "$scratch/mesh.db" --history-every 0.2
arrives "all rows arrive"
put 900 20
arrives "rows that changed arrive"
[ "$(jq -r '.[0].rtt_p50_us' "$b.json")" = 20.25 ] && pass "with their figures" || fail "with their figures" "$(cat "$b.json")"
wait_for 60 "$nomora" mesh history "$scratch/mesh.db" --last 0 h1 h3 && pass "they are in the history" || fail "they are in the history" "$(told)"
wait_for 60 "$nomora" mesh history "$scratch/mesh.db" --last 0 --racks r1 r2 && pass "with their racks" || fail "with their racks" "$(told)"

hard_end "$server"
wait_for 60 grep -q 'lost the connection' "$scratch/collect.err" && wait_for 60 grep -q 'lost the connection' "$scratch/publish.err" &&
	pass "both say that the server is gone" || fail "both say that the server is gone" "$(told)"
put 800 30
same && fail "nothing arrives without a server" || pass "nothing arrives without a server"
wait_for 60 start_server && pass "the server again" || fail "the server again" "$(cat "$scratch/server.log")"
arrives "rows go on after the server's SIGKILL"

hard_end "$collector"
rm -f "$b"
start_collector --peers "$scratch/peers.txt" # the file does not exist yet
wait "$collector"
[ $? -eq 1 ] && grep -q 'peers.txt: ' "$scratch/collect.err" && pass "no such list of peers" || fail "no such list of peers" "$(told)"
printf 'h1 10.0.0.1\nh.2 10.0.0.2\nh3 10.0.0.3\n' >"$scratch/peers.txt"
start_collector --peers "$scratch/peers.txt"
arrives "rows go on after the collector's SIGKILL"
hard_end "$publisher"
put 700 40
start_publisher 0.5
arrives "rows go on after the publisher's SIGKILL"

lost() { "$nomora" mesh top "$1" --json --max-age 0 | jq -e ".lost_hosts == $2"; }
# This publisher repeats what has not changed only at its start: each message of a status after that is a change.
hard_end "$publisher"
start_publisher 600 0.001
# h3 answers no probes: an alarm, until it is drained.
at=$(date +%s)
printf 'src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\nh1,h3,,,,1,0,%s\nh.2,h3,,,,1,0,%s\n' "$at" "$at" >"$scratch/dead.csv"
"$nomora" mesh merge "$scratch/dead.csv" --live "$a"
check "a dead host is lost on both sides" wait_for 60 eval "lost '$a' '[\"h3\"]' && lost '$b' '[\"h3\"]'"
"$nomora" mesh drain "$a" h3
check "a drained one on none" wait_for 60 eval "lost '$a' '[]' && lost '$b' '[]'"
"$nomora" mesh drain "$a" h3 --status active
check "until it is active again" wait_for 60 lost "$b" '["h3"]'

# The producers' own rows: the peer answered last 90 s ago, and is seen now.
at=$(date +%s)
printf 'src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at,state,paths,paths_covered,disturbed,error_us,answered_at\nh1,h3,,,,1,0,%s,unreachable,0,0,0,0,%s\nh.2,h3,,,,1,0,%s,unreachable,0,0,0,0,%s\n' $((at + 1)) $((at - 90)) $((at + 1)) $((at - 90)) >"$scratch/dead.csv"
"$nomora" mesh merge "$scratch/dead.csv" --live "$a"
arrives "what a dead host answered last arrives"
check "and the collector's pairs are unreachable" eval '"$nomora" mesh top "$b" --json | jq -e ".states.unreachable == 2 and .lost_hosts == [\"h3\"]"'

# Messages from other clients: one line of the NATS protocol each.
send() { printf 'CONNECT {"verbose":false}\r\nPUB %s %d\r\n%s\r\nPING\r\n' "$1" "${#2}" "$2" >&3; }
row() {
	printf '{"schema":"nomora.mesh_row/1","rtt_p50_us":%d,"rtt_p99_us":20,"rtt_max_us":30,"loss":0,"samples":5,"state":"measured","updated_at_ns":%d000000000}' \
		"$1" "$(($(date +%s) + $2))"
}
exec 3<>"/dev/tcp/127.0.0.1/$port"
send nomora.mesh.h1 "$(row 10 0)"
send nomora.mesh.h1.h%2 "$(row 10 0)"
send nomora.mesh.h1.h3 '{"schema":"nomora.mesh_row/1"'
send nomora.mesh.h1.h3 "$(row 25 0)"
send nomora.mesh.h1.h3 "$(row 10 3600)"
send nomora.mesh.h1.h9 "$(row 10 0)"
for word in malformed_subject malformed_row inconsistent_figures from_the_future unknown_host; do
	wait_for 60 grep -q "row refused ($word)" "$scratch/collect.err" && pass "refused: $word" || fail "refused: $word" "$(told)"
done
exec 3>&-
same && pass "and none of them is in the matrix" || fail "and none of them is in the matrix" "$(cat "$b.txt")"

kill "$collector" "$publisher"
wait "$collector" && pass "SIGTERM ends the collector" || fail "SIGTERM ends the collector" "$(told)"
wait "$publisher" && pass "SIGTERM ends the publisher" || fail "SIGTERM ends the publisher" "$(told)"
# h3 drained, and active again.
statuses=$(jq .statuses "$scratch/collect.out")
[ "$statuses" -eq 2 ] && pass "changes of a status are counted, each once" ||
	fail "changes of a status are counted, each once" "$(cat "$scratch/collect.out")"
counts=$(jq -c '[.refused[]] | add' "$scratch/collect.out")
[ "$counts" = 6 ] && pass "the refused rows are counted" || fail "the refused rows are counted" "$(cat "$scratch/collect.out")"
[ "$(jq .refused.malformed_subject "$scratch/collect.out")" = 2 ] && pass "by name" || fail "by name" "$(cat "$scratch/collect.out")"
[ "$(grep -c 'malformed_subject' "$scratch/collect.err")" -eq 1 ] && pass "the first of each is logged" || fail "the first of each is logged" "$(told)"
documented "mesh collect --json" cat "$scratch/collect.out"
documented "mesh publish --json" cat "$scratch/publish.out"

# SIGTERM ends the collector in a flood of bad messages (libnats before 3.6 used a subscription that was freed, in one of five ends).
hard_end "$server"
port=
wait_for 60 start_server || fail "a server for the flood" "$(cat "$scratch/server.log")"
python3 - "$port" 2>/dev/null <<'END' &
import socket, sys, threading
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b'CONNECT {"verbose":false}\r\n')
threading.Thread(target=lambda: [s.recv(65536) for _ in iter(int, 1)], daemon=True).start()
bad = b"[" + b"0," * 1000 + b"0]"  # to parse one takes longer than to receive it: they wait in the collector
while True:
    s.sendall((b"PUB nomora.mesh.a.b %d\r\n%s\r\n" % (len(bad), bad)) * 50)
END
flood=$!
at_exit kill -9 "$flood"
ended=0
for pause in 0 05 1 15 2 25 3 35 4 45; do
	: >"$scratch/collect.err"
	MALLOC_PERTURB_=165 start_collector
	wait_for 60 grep -q 'row refused' "$scratch/collect.err" && sleep "0.$pause"
	kill "$collector" && wait "$collector" && ended=$((ended + 1))
done
hard_end "$flood"
check "SIGTERM ends the collector in a flood of bad messages" test "$ended" -eq 10

# Refusals are reported in the server's words; the first attempt is repeated once.
port=
secure() { # ARGUMENT...: a server that refuses us
	rm -f "$scratch"/ports/*
	nats-server -a 127.0.0.1 -p -1 --ports_file_dir "$scratch/ports" "$@" >>"$scratch/server.log" 2>&1 &
	server=$!
	at_exit kill -9 "$server"
	wait_for 60 listens || fail "a server with $1" "$(tail -n 5 "$scratch/server.log")"
}
secure --user u --pass right
run timeout 60 "$nomora" mesh collect "$b" --server "nats://u:wrong@127.0.0.1:$port"
[ "$code" -eq 1 ] && grep -q 'refused the connection: Authorization Violation' <<<"$err" && pass "a wrong password" || fail "a wrong password" "$code" "$err"
secure --tls --tlscert "$source_root/tests/data/nats/expired.pem" --tlskey "$source_root/tests/data/nats/expired.key"
for command in collect publish; do
	run timeout 60 "$nomora" mesh $command "$b" --server "tls://127.0.0.1:$port" --tls-ca "$source_root/tests/data/nats/authority.pem"
	[ "$code" -eq 1 ] && grep -q 'error: .*certificate has expired' <<<"$err" && pass "$command: an expired certificate" ||
		fail "$command: an expired certificate" "$code" "$err" "$(tail -n 5 "$scratch/server.log")"
done
run env SSL_CERT_FILE="$source_root/tests/data/nats/authority.pem" timeout 60 "$nomora" mesh collect "$b" --server "tls://127.0.0.1:$port"
[ "$code" -eq 1 ] && grep -q 'error: .*certificate has expired' <<<"$err" && pass "tls:// alone: the system's authorities" ||
	fail "tls:// alone: the system's authorities" "$code" "$err"

# A server that twice closes the connection during the first handshake, and then works.
cat >"$scratch/hang_up.py" <<-'END'
	import socket
	listener = socket.create_server(("127.0.0.1", 0))
	print(listener.getsockname()[1], flush=True)
	for _ in range(2):
	    listener.accept()[0].close()
END
python3 "$scratch/hang_up.py" >"$scratch/hang_up.port" &
hang_up=$!
at_exit kill -9 "$hang_up"
wait_for 60 test -s "$scratch/hang_up.port"
port=$(cat "$scratch/hang_up.port")
"$nomora" mesh publish "$a" --server "nats://127.0.0.1:$port" >"$scratch/early.out" 2>"$scratch/early.err" &
publisher=$!
at_exit kill -9 "$publisher"
wait "$hang_up"
wait_for 60 start_server && wait_for 60 grep -q 'connected to the NATS server$' "$scratch/early.err" && kill "$publisher" && wait "$publisher" &&
	pass "a server that hung up at first" || fail "a server that hung up at first" "$(cat "$scratch/early.err")"
port=

# Credentials (JWT and seed): jwt.conf knows one operator and one account. user.creds belongs to that account,
# stranger.creds to another; expired.creds expired in 2023; text.creds is not a credentials file.
secure -c "$source_root/tests/data/nats/jwt.conf"
"$nomora" mesh publish "$a" --server "nats://127.0.0.1:$port" --creds "$source_root/tests/data/nats/user.creds" --json >"$scratch/creds.out" 2>"$scratch/creds.err" &
publisher=$!
at_exit kill -9 "$publisher"
wait_for 60 grep -q 'connected to the NATS server' "$scratch/creds.err" && kill "$publisher" && wait "$publisher" &&
	pass "credentials" || fail "credentials" "$(cat "$scratch/creds.err")" "$(tail -n 5 "$scratch/server.log")"
grep -q 'lost the connection' "$scratch/creds.err" && fail "an end that was asked for is no failure" "$(cat "$scratch/creds.err")" ||
	pass "an end that was asked for is no failure"
echo 'no credentials' >"$scratch/text.creds"
for creds in stranger expired; do
	run timeout 60 "$nomora" mesh collect "$b" --server "nats://127.0.0.1:$port" --creds "$source_root/tests/data/nats/$creds.creds"
	[ "$code" -eq 1 ] && grep -q 'refused the connection: Authorization Violation' <<<"$err" && pass "credentials: $creds" || fail "credentials: $creds" "$code" "$err"
done
refuses "credentials: none in the file" 1 "no nkey user seed found in '.*text.creds'" "$nomora" mesh publish "$a" --server "nats://127.0.0.1:$port" --creds "$scratch/text.creds"

refuses "no server" 2 'missing option --server' "$nomora" mesh publish "$a"
refuses "a bad prefix" 2 "'x.\*': expected words" "$nomora" mesh collect "$b" --server nats://127.0.0.1:1 --subject 'x.*'
refuses "no live matrix" 1 'peers.txt: ' "$nomora" mesh publish "$scratch/peers.txt" --server nats://127.0.0.1:1
refuses "no credentials" 1 'none.creds: No such file' "$nomora" mesh publish "$a" --server nats://127.0.0.1:1 --creds "$scratch/none.creds"
refuses "no certificates" 1 'none.pem: ' "$nomora" mesh collect "$b" --server tls://127.0.0.1:1 --tls-ca "$scratch/none.pem"
refuses "a bad address" 1 "invalid port 'notaport'" "$nomora" mesh collect "$b" --server 'nats://127.0.0.1:notaport'
plan

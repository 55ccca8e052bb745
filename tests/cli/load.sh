#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora load with Debian's memcached: its counters must agree with the server's own.
. "$(dirname "$0")/lib.sh"

refuses "a server that is not there" 1 'cannot connect to 127.0.0.1 port 1: ' "$nomora" load 127.0.0.1:1
refuses "a name that does not exist" 1 'cannot find the server' "$nomora" load nowhere.invalid
refuses "a port of 99999" 2 "port '99999': expected 1 to 65535" "$nomora" load 127.0.0.1:99999
refuses "an empty port" 2 "port '': expected" "$nomora" load 127.0.0.1:
refuses "no server" 2 'missing operand' "$nomora" load
refuses "a depth of 0" 2 'depth' "$nomora" load 127.0.0.1 --depth 0
refuses "a share over 1" 2 'update-share' "$nomora" load 127.0.0.1 --update-share 1.5
refuses "a rate of the closed loop" 2 '--rate applies to the open loop.* add --mode open' "$nomora" load 127.0.0.1:1 --rate 1000
refuses "even that of ETC" 2 '--rate applies to the open loop' "$nomora" load 127.0.0.1:1 --rate 0
refuses "gaps of the closed loop" 2 '--gap applies to the open loop.* add --mode open' "$nomora" load 127.0.0.1:1 --gap etc
refuses "to store the keys only, and not to" 2 '--fill-only and --no-fill are mutually exclusive' \
	"$nomora" load 127.0.0.1:1 --fill-only --no-fill
command -v memcached >/dev/null || { skip "the rest" "memcached is not installed"; plan; exit 0; }
command -v python3 >/dev/null || { skip "the rest" "python3 is not installed"; plan; exit 0; }

socket_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(socket_port)
user=()
[ "$(id -u)" -ne 0 ] || user=(-u nobody)
memcached "${user[@]}" -l 127.0.0.1 -p "$port" -t 1 -m 128 &
server=$!
at_exit kill "$server"

# ask WORD...: sends one line to the server, prints its answer up to END or OK.
ask() {
	exec 5<>"/dev/tcp/127.0.0.1/$port" || return 1
	printf '%s\r\n' "$*" >&5
	while IFS= read -t 5 -r line <&5; do
		line=${line%$'\r'}
		case $line in END | OK | RESET) break ;; esac
		printf '%s\n' "$line"
	done
	exec 5>&-
}
stat_of() { ask stats | sed -n "s/^STAT $1 //p"; }
wait_for 10 ask version || { fail "memcached starts"; plan; exit 1; }
number() { printf '%s' "$out" | python3 -c 'import json, sys; v = json.load(sys.stdin)
for k in sys.argv[1].split("."): v = v[k]
print(v)' "$1"; }

# agrees NAME OPTION...: runs the load and compares its totals with the server's; $elapsed_s is the command's time.
agrees() {
	local name=$1 what ours theirs begin=$EPOCHREALTIME
	shift
	ask stats reset >/dev/null
	run "$nomora" load "127.0.0.1:$port" --json "$@"
	elapsed_s=$(python3 -c 'import sys; print(float(sys.argv[2]) - float(sys.argv[1]))' "$begin" "$EPOCHREALTIME")
	if [ "$code" -ne 0 ]; then fail "$name" "exit $code" "$err"; return; fi
	for what in gets:cmd_get sets:cmd_set hits:get_hits misses:get_misses stored:cmd_set; do
		ours=$(number "total.${what%:*}")
		theirs=$(stat_of "${what#*:}")
		[ "$ours" = "$theirs" ] || { fail "$name" "$what: $ours by us, $theirs by the server"; return; }
	done
	pass "$name"
}

agrees "filling: every key is stored" --keys 5000 --fill-only
check "the server has 5000 keys" test "$(stat_of curr_items)" -eq 5000
agrees "closed loop, 4 connections" --keys 5000 --duration 0.4 --warm-up 0.1 --connections 4
check "the rate is answers over the time it took" python3 -c 'import sys
sets, gets, seconds, rate, elapsed = map(float, sys.argv[1:])
sys.exit(not (0.4 <= seconds < elapsed - 0.1 and abs(rate * seconds / (sets + gets) - 1) < 0.01))' \
	"$(number measured.sets)" "$(number measured.gets)" "$(number duration_s)" "$(number qps)" "$elapsed_s"
check "and what the warm-up asked is not in it" test "$(number total.gets)" -gt "$(number measured.gets)"
check "each latency counts the requests of its kind" test "$(number get_latency_us.count) $(number set_latency_us.count) $(number latency_us.count)" = \
	"$(number measured.gets) $(number measured.sets) $(($(number measured.gets) + $(number measured.sets)))"
check "no miss after the filling" test "$(number measured.misses)" -eq 0
check "about 3 % updates" python3 -c 'import sys; s, g = int(sys.argv[1]), int(sys.argv[2]); sys.exit(not 0.02 < s / (s + g) < 0.04)' \
	"$(number measured.sets)" "$(number measured.gets)"
agrees "depth 32, skewed keys" --keys 5000 --duration 0.3 --warm-up 0 --depth 32 --skew 0.99
agrees "keys that are not there are misses" --keys 10000 --no-fill --duration 0.3 --warm-up 0
check "about half of them" python3 -c 'import sys; m, g = map(int, sys.argv[1:]); sys.exit(not 0.3 < m / g < 0.7)' \
	"$(number measured.misses)" "$(number measured.gets)"
agrees "updates only" --keys 1000 --update-share 1 --duration 0.2 --warm-up 0
agrees "open loop at 5000 per second" --keys 5000 --mode open --rate 5000 --duration 1 --warm-up 0.1
check "offers what was asked for" python3 -c 'import sys; sys.exit(not 4500 < float(sys.argv[1]) < 5500)' "$(number offered_qps)"
check "and gets every answer" test "$(number unanswered)" -eq 0

# A rate far above what any server can do: all answered and outstanding requests were due in the warm-up.
run "$nomora" load "127.0.0.1:$port" --json --no-fill --keys 5000 --mode open --gap fixed --rate 1e7 --duration 0.2 --warm-up 0.5 --timeout 0.1
[ "$code" -eq 3 ] && says "$err" 'none of the 2000000 requests that were due .*try a lower --rate' &&
	pass "a server that does not come to the measured time is a negative answer" ||
	fail "a server that does not come to the measured time is a negative answer" "exit $code" "$err"
check "which offered what was due in that time, and no more" python3 -c 'import sys
offered, unanswered, rate, answered = map(float, sys.argv[1:])
sys.exit(not (abs(offered - 1e7) <= 5 and abs(unanswered - 2e6) <= 1 and rate == 0 and answered > 100))' \
	"$(number offered_qps)" "$(number unanswered)" "$(number qps)" "$(number total.gets)"
# Without warm-up some requests are answered: together with the others they are all that were due.
run "$nomora" load "127.0.0.1:$port" --json --no-fill --keys 5000 --mode open --gap fixed --rate 1e7 --duration 0.2 --warm-up 0 --timeout 0.1
[ "$code" -eq 0 ] && [ "$(($(number unanswered) + $(number latency_us.count)))" -eq 2000000 ] &&
	pass "what was due was either answered or not" || fail "what was due was either answered or not" "exit $code" "$out" "$err"

# A server that stops for 0.4 s: in the open loop, the latency of each request due meanwhile must include the wait.
( sleep 0.4; kill -STOP "$server"; sleep 0.4; kill -CONT "$server" ) &
run "$nomora" load "127.0.0.1:$port" --json --no-fill --keys 5000 --mode open --gap fixed --rate 2000 --duration 1.2 --warm-up 0
wait $!
check "no coordinated omission: a stop of 0.4 s in 1.2 s is in p95" python3 -c 'import json, sys
v = json.load(open(sys.argv[1])); l = v["latency_us"]
sys.exit(not (l["max"] > 390e3 and l["p95"] > 250e3 and l["mean"] > 40e3))' "$scratch/out"

# stops_for SECONDS OPTION...: an open loop, during which the server stops for SECONDS after the first requests; output
# in $out.
stops_for() {
	local seconds=$1 load
	shift
	ask stats reset >/dev/null
	"$nomora" load "127.0.0.1:$port" --json --no-fill --keys 5000 --mode open --gap fixed --warm-up 0 --connections 1 "$@" >"$scratch/out" &
	load=$!
	wait_for 5 eval '[ "$(stat_of cmd_get)" -gt 100 ]'
	kill -STOP "$server"
	sleep "$seconds"
	kill -CONT "$server"
	wait "$load"
	out=$(cat "$scratch/out")
}
# 0.4 s at 20,000 a second exceed the limit of outstanding requests: most are not even sent before the server continues.
stops_for 0.4 --rate 20000 --duration 1.5
check "a request that waits to be sent is late as well, from when it was due" python3 -c 'import json, sys
v = json.load(open(sys.argv[1]))
print(v["latency_us"], v["service_us"])
sys.exit(not (v["latency_us"]["p95"] > 200e3 and v["service_us"]["p95"] < 100e3))' "$scratch/out"
stops_for 1.3 --rate 2000 --duration 1
check "what was due before the end is measured, however late its answer" test "$(($(number measured.gets) + $(number measured.sets)))" -eq \
	"$(($(number total.gets) + $(number total.sets)))" -a "$(number total.gets)" -gt 100
check "which was answered after it" python3 -c 'import sys; sys.exit(not (float(sys.argv[1]) > 300e3 and sys.argv[2] == "0"))' \
	"$(number latency_us.max)" "$(number unanswered)"

run "$nomora" load "127.0.0.1:$port" --duration 0.2 --warm-up 0
[ "$code" -eq 0 ] && says "$out" 'requests/s answered' && pass "text for people" || fail "text for people" "$out$err"
ask stats reset >/dev/null
"$nomora" load "127.0.0.1:$port" --duration 60 --warm-up 0 --json >"$scratch/early.json" 2>/dev/null &
load=$!
wait_for 5 sh -c "test \"\$(printf 'stats\r\nquit\r\n' | timeout 1 bash -c 'exec 5<>/dev/tcp/127.0.0.1/$port; cat >&5; cat <&5' | tr -d '\r' | sed -n 's/^STAT cmd_get //p')\" -gt 20000"
kill -INT "$load"
code=0
wait "$load" || code=$?
[ "$code" -eq 0 ] && grep -q qps "$scratch/early.json" && pass "SIGINT prints what was measured" || fail "SIGINT prints what was measured" "exit $code"

small=$(socket_port)
memcached "${user[@]}" -l 127.0.0.1 -p "$small" -t 1 -m 4 -M &
at_exit kill $!
wait_for 5 bash -c "exec 5<>/dev/tcp/127.0.0.1/$small"
refuses "a server that has no room for all of it" 1 "[0-9]+ of 60000 requests failed, the first with 'SERVER_ERROR out of memory" \
	"$nomora" load "127.0.0.1:$small" --keys 60000 --fill-only

kill -STOP "$server"
refuses "a server that is silent" 1 'has not answered for 0.3 s' "$nomora" load "127.0.0.1:$port" --timeout 0.3
kill -CONT "$server"
# Another server answers: a line of a web server.
other=$(socket_port)
python3 -c 'import socket, sys
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    c, _ = s.accept(); c.recv(1000); c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"); c.close()' "$other" &
at_exit kill $!
wait_for 5 bash -c "exec 5<>/dev/tcp/127.0.0.1/$other"
refuses "a server of something else" 1 "does not speak memcached's text protocol; it said 'HTTP/1.1 400" "$nomora" load "127.0.0.1:$other" --connections 1
plan

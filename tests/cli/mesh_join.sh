#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora mesh join, leave and members over a NATS server of our own: lists of peers, changes, refusals, SIGKILL of each side.
. "$(dirname "$0")/lib.sh"

command -v nats-server >/dev/null || skip_all "nats-server is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"
members=$scratch/members.txt port=
mkdir "$scratch/ports" "$scratch/lists"
listens() { kill -0 "$server" && port=$(jq -re '.nats[0]' "$scratch"/ports/*.ports | sed 's/.*://') && [ -n "$port" ]; }
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
keep() {
	"$nomora" mesh members "$members" --server "nats://127.0.0.1:$port" "$@" 2>>"$scratch/members.err" &
	keeper=$!
	at_exit kill -9 "$keeper"
}
# join NAME ADDRESS [OPTION...]: its process is in ${host[NAME]}
declare -A host
join() {
	"$nomora" mesh join "$scratch/$1.peers" --server "nats://127.0.0.1:$port" --interval 0.1 --name "$1" --address "$2" "${@:3}" 2>>"$scratch/$1.err" &
	host[$1]=$!
	at_exit kill -9 "${host[$1]}"
}
leave() { "$nomora" mesh leave --server "nats://127.0.0.1:$port" --name "$1" --address "$2"; }
hard_end() { kill -9 "$1"; wait "$1" 2>/dev/null; }
# lists FILE LINE...: exactly these hosts
lists() { [ -s "$1" ] && [ "$(grep -v '^#' "$1" | sort)" = "$(printf '%s\n' "${@:2}" | sort)" ]; }
told() { tail -n 5 "$scratch"/*.err "$scratch"/*.peers "$members" "$scratch/server.log" 2>&1; }
becomes() { if wait_for 60 lists "${@:2}"; then pass "$1"; else fail "$1" "$(told)"; fi; }

wait_for 60 start_server && pass "a NATS server" || { fail "a NATS server" "$(cat "$scratch/server.log")"; plan; exit; }
one="h1 10.9.0.1 - r1" two="h2 10.9.0.2 - r2" three="h.3 fd00::3 -"
join h1 10.9.0.1 --rack r1
keep
becomes "a host that joined before the keeper started has its list" "$scratch/h1.peers" "$one"
join h2 10.9.0.2 --rack r2
becomes "the second has both" "$scratch/h2.peers" "$one" "$two"
becomes "and the first too" "$scratch/h1.peers" "$one" "$two"
becomes "so has the keeper" "$members" "$one" "$two"

"$nomora" mesh agent nothing --address 10.9.0.1 --peers "$scratch/h1.peers" --live "$scratch/live" >/dev/null 2>"$scratch/agent.err"
grep -q 'nothing' "$scratch/agent.err" && ! grep -q 'h1.peers' "$scratch/agent.err" && pass "the agent reads the list" ||
	fail "the agent reads the list" "$(cat "$scratch/agent.err")"

hard_end "$keeper"
rm "$scratch/h2.peers"
join h.3 fd00::3
keep
becomes "after SIGKILL of the keeper, a third joins" "$scratch/h.3.peers" "$one" "$two" "$three"
becomes "a host whose list was deleted gets it again" "$scratch/h2.peers" "$one" "$two" "$three"
hard_end "${host[h1]}"
join h1 10.9.0.11 --rack r1
becomes "a host that comes back with another address replaces its old one" "$members" "h1 10.9.0.11 - r1" "$two" "$three"
join h4 10.9.0.2
wait_for 60 grep -q "h4 has the address of h2" "$scratch/members.err" && pass "two hosts cannot have one address" ||
	fail "two hosts cannot have one address" "$(told)"
hard_end "${host[h4]}"
lists "$members" "h1 10.9.0.11 - r1" "$two" "$three" && pass "and the list stays as it is" || fail "and the list stays as it is" "$(told)"

hard_end "${host[h2]}"
check "a host leaves" leave h2 10.9.0.2
becomes "it is no member then" "$members" "h1 10.9.0.11 - r1" "$three"
becomes "and no peer" "$scratch/h1.peers" "h1 10.9.0.11 - r1" "$three"

# One command for a host's units and its membership; a systemctl that does nothing.
mkdir "$scratch/path"
printf '#!/bin/sh\n' >"$scratch/path/systemctl"
chmod +x "$scratch/path/systemctl"
join h5 10.9.0.5
becomes "another joins" "$members" "h1 10.9.0.11 - r1" "$three" "h5 10.9.0.5 -"
hard_end "${host[h5]}"
check "setup --remove" env "PATH=$scratch/path:$PATH" "$nomora" setup host --server "nats://127.0.0.1:$port" --interface lo \
	--address 10.9.0.5/24 --name h5 --folder "$scratch/etc" --remove
becomes "ends its membership" "$members" "h1 10.9.0.11 - r1" "$three"

hard_end "$server"
wait_for 60 grep -q 'lost the connection' "$scratch/h1.err" && wait_for 60 grep -q 'lost the connection' "$scratch/members.err" &&
	pass "both sides say that the server is gone" || fail "both sides say that the server is gone" "$(told)"
wait_for 60 start_server && pass "the server again" || fail "the server again" "$(cat "$scratch/server.log")"
join h2 10.9.0.2 --rack r2
becomes "the mesh goes on after the server's SIGKILL" "$scratch/h1.peers" "h1 10.9.0.11 - r1" "$two" "$three"

hard_end "$keeper"
printf 'h2 10.9.0.2\nh1 10.9.0.11\n' >"$scratch/lists/h2.peers"
keep --lists "$scratch/lists"
becomes "with --lists, a host gets its own list" "$scratch/h2.peers" "h2 10.9.0.2" "h1 10.9.0.11"
printf 'h1 10.9.0.11\n' >"$scratch/lists/h2.peers"
wait_for 60 grep -q 'lacks this host' "$scratch/h2.err" && lists "$scratch/h2.peers" "h2 10.9.0.2" "h1 10.9.0.11" &&
	pass "a list without the host is refused" || fail "a list without the host is refused" "$(told)"
for name in h1 h2 h.3; do hard_end "${host[$name]}"; done
for one in h1=10.9.0.11 h2=10.9.0.2 h.3=fd00::3; do leave "${one%=*}" "${one#*=}"; done
gone() { [ ! -e "$members" ]; }
wait_for 60 gone && pass "without members there is no list" || fail "without members there is no list" "$(told)"
kill -TERM "$keeper"
wait "$keeper" && pass "SIGTERM ends the keeper" || fail "SIGTERM ends the keeper" "$(told)"
printf 'h1 nothing\n' >"$members"
refuses "a damaged list of members is refused" 1 "members.txt:1: address" "$nomora" mesh members "$members" --server "nats://127.0.0.1:$port"
refuses "the server is required" 2 "--server" "$nomora" mesh join "$scratch/x" --address 10.9.0.1
refuses "the address is required" 2 "--address" "$nomora" mesh join "$scratch/x" --server "nats://127.0.0.1:$port"
refuses "names are checked" 2 "--name" "$nomora" mesh join "$scratch/x" --server "nats://127.0.0.1:$port" --address 10.9.0.1 --name 'a#b'
plan

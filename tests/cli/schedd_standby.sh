#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons on one state: the standby answers that it is one, and takes over when the other is killed or stopped.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d /tmp/nomora-standby.XXXXXX) # the path of a unix socket must be short
at_exit bash -c "cd $dir; for file in *.pid; do kill -9 \$(cat \$file); done; rm -rf $dir"
python3 - "$dir/cluster.json" <<'TEXT'
import json, sys
json.dump({"schema": "nomora.cluster/1", "machines": [{"name": f"h{m}", "rack": f"r{m // 8}", "slots": 100} for m in range(64)]}, open(sys.argv[1], "w"))
TEXT
# start NAME OPTION...: a daemon that serves on $dir/NAME
start() {
	local name=$1
	shift
	"$bin/nomora-schedd" schedd --state "$dir/state" --socket "$dir/$name" --cluster "$dir/cluster.json" --curves "$source_root/curves" --no-executor "$@" 2>"$dir/$name.log" &
	echo $! >"$dir/$name.pid"
}
serves() { NOMORA_SCHEDD=$dir/$1 "$nomora" jobs >/dev/null 2>&1; }
says_standby() { grep -q 'on standby: another daemon uses' "$dir/$1.log"; }
end() { kill "${2:--TERM}" "$(cat "$dir/$1.pid")"; wait "$(cat "$dir/$1.pid")"; }

start a --standby
check "a daemon that may be a standby serves a state that nobody uses" wait_for 30 serves a
# A service manager's socket that logs its messages.
python3 - "$dir/notify" >"$dir/heard" <<'TEXT' &
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
while True:
    print(manager.recv(4096).decode(), flush=True)
TEXT
echo $! >"$dir/manager.pid"
wait_for 30 test -S "$dir/notify"
NOTIFY_SOCKET=$dir/notify start b --standby
check "a second one waits" wait_for 30 says_standby b
check "the service manager knows" wait_for 30 grep -q '^STATUS=on standby' "$dir/heard"
check "and its watchdog is fed" wait_for 30 grep -q '^WATCHDOG=1' "$dir/heard"
refuses "the standby says that it is one" 1 "this daemon is on standby: another daemon uses $dir/state" env NOMORA_SCHEDD="$dir/b" "$nomora" jobs
for request in "GET /" "GET /metrics" "GET /healthz" "POST /v1/jobs" "PUT /v1/machines/h1" "DELETE /v1/jobs/x" "POST /v1/events"; do
	method=${request% *}
	check "$request is refused with 421" test "$(curl -s -o "$dir/body" -w '%{http_code}' --unix-socket "$dir/b" -X "$method" -H 'Content-Type: application/json' "http://localhost${request#* }")" = 421
done
mkdir "$dir/away" && mv "$dir"/state* "$dir/away"
check "a state that cannot be reached, as on a file system that is not mounted: the standby says so" \
	wait_for 30 grep -q "on standby: $dir/state: unable to open database file" "$dir/b.log"
sleep 1 # it tries four times a second
check "once, and waits" test "$(grep -c "unable to open" "$dir/b.log")" -eq 1
check "it makes no new state" test ! -e "$dir/state"
mv "$dir"/away/state* "$dir"
start c
check "the state needs no shared memory, so it may be on a file system of two hosts" test ! -e "$dir/state-shm"
check "without --standby, a third one ends" wait_for 30 grep -q 'another process has this state file open' "$dir/c.log"
wait "$(cat "$dir/c.pid")"
check "with 1" test $? -eq 1
# On the socket of the daemon that serves, a standby cannot listen, but waits all the same.
"$bin/nomora-schedd" schedd --state "$dir/state" --socket "$dir/a" --standby 2>"$dir/d.log" &
echo $! >"$dir/d.pid"
check "a standby with the same socket" wait_for 30 says_standby d
end d
check "SIGTERM ends a standby with 0" test $? -eq 0
check "and the daemon serves on" serves a

# submit NAME: submits small jobs until the daemon does not answer; the ids of the accepted ones in $dir/accepted
submit() {
	python3 - "$dir/$1" "$1" >>"$dir/accepted" <<'TEXT'
import http.client, json, socket, sys
for number in range(1000):
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    name = f"{sys.argv[2]}{number}"
    try:
        connection.sock.connect(sys.argv[1])
        connection.request("POST", "/v1/jobs", json.dumps({"id": name, "curve": "spark", "root": 0, "tasks": 2}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
    except OSError:
        break
    if answer.status == 201:
        print(name, flush=True)
TEXT
}
# takes_over OLD NEW SIGNAL: NEW has every job that OLD accepted before the signal, and decides
takes_over() {
	submit "$1" &
	local submitter=$! before
	before=$(wc -l <"$dir/accepted" 2>/dev/null || echo 0)
	accepted_more() { [ "$(wc -l <"$dir/accepted")" -gt $((before + 20)) ]; }
	wait_for 30 accepted_more
	end "$1" "$3" 2>/dev/null
	check "after $3, the standby takes over" wait_for 30 serves "$2"
	wait "$submitter"
	check "nothing that was accepted is lost" python3 -c "
import json, sys
known = {job['id'] for job in json.load(open(sys.argv[1]))['jobs']}
accepted = open(sys.argv[2]).read().split()
assert len(accepted) > 20 and known >= set(accepted), sorted(set(accepted) - known)" <(NOMORA_SCHEDD=$dir/$2 "$nomora" jobs --json) "$dir/accepted"
	check "it decides" sh -c "echo '{\"id\": \"after-$1-$3\", \"curve\": \"spark\", \"root\": 0, \"tasks\": 3}' | NOMORA_SCHEDD=$dir/$2 '$nomora' submit -"
	check "about new jobs" wait_for 30 sh -c "NOMORA_SCHEDD=$dir/$2 '$nomora' jobs after-$1-$3 --json | jq -e 'all(.tasks[]; .state == \"running\")'"
}
: >"$dir/accepted"
takes_over a b -KILL
check "and says so" grep -q "took over $dir/state" "$dir/b.log"
start a --standby
check "the killed one comes back as standby" wait_for 30 says_standby a
takes_over b a -TERM
end a

# An upgrade: the standby is the newer program, and the state has the previous version.
python3 - "$dir/old" >"$dir/holds" <<'TEXT' &
import sqlite3, sys, time
state = sqlite3.connect(sys.argv[1], isolation_level=None)
state.executescript("""PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;
CREATE TABLE machines (name TEXT PRIMARY KEY, rack TEXT, pod TEXT, slots INTEGER, state TEXT) WITHOUT ROWID;
CREATE TABLE curves (name TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;
CREATE TABLE jobs (id TEXT PRIMARY KEY, line TEXT, owner INTEGER, may_move INTEGER) WITHOUT ROWID;
CREATE TABLE tasks (job TEXT, task INTEGER, state TEXT, machine TEXT, origin TEXT, attempts INTEGER, since REAL, PRIMARY KEY (job, task)) WITHOUT ROWID;
CREATE TABLE decisions (sequence INTEGER PRIMARY KEY, at REAL, kind TEXT, job TEXT, task TEXT, from_machine TEXT, to_machine TEXT, rtt_us REAL, performance REAL, gain REAL);
PRAGMA user_version = 1; PRAGMA application_id = 1315925362;
INSERT INTO machines VALUES ('h1', 'r1', 'p1', 4, 'up');""")
print("holds", flush=True)
time.sleep(1000)
TEXT
echo $! >"$dir/old.pid"
wait_for 30 grep -q holds "$dir/holds"
"$bin/nomora-schedd" schedd --state "$dir/old" --socket "$dir/new" --standby 2>"$dir/new.log" &
echo $! >"$dir/new.pid"
check "a newer program waits for an older one" wait_for 30 says_standby new
end old -KILL 2>/dev/null
check "takes over" wait_for 30 serves new
check "and has its machines" test "$(curl -s --unix-socket "$dir/new" http://localhost/v1/machines | jq -r '.machines[].name')" = h1
end new
plan

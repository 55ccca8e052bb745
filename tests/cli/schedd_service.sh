#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora schedd as a service: readiness, the watchdog, the unit; permissions of other users; a damaged state.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d /tmp/nomora-service.XXXXXX)
export NOMORA_SCHEDD=$dir/socket
at_exit bash -c "cd $dir; for file in *.pid; do kill -9 \$(cat \$file); done; rm -rf $dir"
chmod 755 "$dir"

cat >"$dir/cluster.json" <<'TEXT'
{"schema": "nomora.cluster/1", "machines": [
 {"name": "h1", "rack": "r1", "slots": 9}, {"name": "h2", "rack": "r1", "slots": 9}]}
TEXT
# A service manager's socket that logs its messages.
cat >"$dir/manager.py" <<'TEXT'
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
while True:
    print(manager.recv(4096).decode(), flush=True)
TEXT
python3 "$dir/manager.py" "$dir/notify" >"$dir/heard" &
echo $! >"$dir/manager.pid"
wait_for 30 test -S "$dir/notify"

NOTIFY_SOCKET=$dir/notify WATCHDOG_USEC=2000000 "$bin/nomora-schedd" schedd --state "$dir/state" --socket "$NOMORA_SCHEDD" --cluster "$dir/cluster.json" \
	--curves "$source_root/curves" --admin-group "$(id -gn nobody)" --user-tasks 4 2>"$dir/log" &
daemon=$!
echo $daemon >"$dir/schedd.pid"
check "it tells the service manager that it is ready" wait_for 30 grep -q '^READY=1' "$dir/heard"
check "its loop feeds the watchdog" wait_for 30 grep -q '^WATCHDOG=1' "$dir/heard"
check "with a status" wait_for 30 grep -q '^STATUS=0 decisions' "$dir/heard"

# as UID GID METHOD PATH [BODY]
as() { setpriv --reuid "$1" --regid "$2" --clear-groups curl -s --unix-socket "$NOMORA_SCHEDD" -X "$3" ${5+-H "Content-Type: application/json" --data-binary "$5"} "http://localhost$4"; }
job() { echo "{\"id\": \"$1\", \"curve\": \"spark\", \"root\": 0, \"tasks\": $2}"; }
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 12345 --regid 12345 --clear-groups true 2>/dev/null; then
	check "a user submits" grep -q 201 <<<"$(as 12345 12345 POST /v1/jobs "$(job mine 3)")"
	refused=$(as 12345 12345 POST /v1/jobs "$(job more 2)")
	check "not more than the quota" grep -q "would exceed the user's limit of 4 tasks" <<<"$refused"
	check "with the status of a request that is forbidden" grep -q '"status": *403' <<<"$refused"
	check "the agents' ids are not for users" grep -q 'belong to the agents' <<<"$(as 12345 12345 POST /v1/jobs "$(job slurm-77 1)")"
	check "another user has a quota of its own" grep -q 201 <<<"$(as 12346 12346 POST /v1/jobs "$(job other 4)")"
	check "another user's job stays" grep -q "belongs to another user" <<<"$(as 12346 12346 DELETE /v1/jobs/mine)"
	check "users do not drain" grep -q 'admin group may do this' <<<"$(as 12345 12345 POST /v1/changes '{"changes": ["drain h1"]}')"
	check "nor report events" grep -q 'admin group may do this' <<<"$(as 12345 12345 POST /v1/events '{"event": "ended", "job": "mine", "task": "t0"}')"
	check "nor flows" grep -q 'admin group may do this' <<<"$(as 12345 12345 POST /v1/flows '{"job": "mine", "from": "t0", "to": "t1", "MB": 1}')"
	group=$(id -g nobody)
	check "members of the admin group do" grep -q '"changes": 1' <<<"$(as 12345 "$group" POST /v1/changes '{"changes": ["drain h1"]}')"
	check "also by another group of theirs" grep -q '"changes": 1' <<<"$(setpriv --reuid 12345 --regid 12345 --groups "$group" \
		curl -s --unix-socket "$NOMORA_SCHEDD" -H "Content-Type: application/json" --data-binary '{"changes": ["up h1"]}' http://localhost/v1/changes)"
else
	skip "other users" "needs root"
fi
check "a body of 10 MB is refused" grep -q 'too large' <<<"$(head -c 10000000 /dev/zero | curl -s --unix-socket "$NOMORA_SCHEDD" -H "Content-Type: application/json" --data-binary @- http://localhost/v1/jobs)"
"$nomora" submit - <<<"$(job kept 2)" >/dev/null
jobs=$("$nomora" jobs --json | jq -c '[.jobs[].id] | sort')
kill "$daemon"
wait "$daemon"
check "SIGTERM ends it with 0" test $? -eq 0
check "and it says so" grep -q '^STOPPING=1' "$dir/heard"

# One byte of a job's text is changed on the disk.
python3 - "$dir/state" <<'TEXT'
import sys
with open(sys.argv[1], "r+b") as file:
    data = file.read()
    at = data.index(b'"curve": "spark", "root": 0, "tasks": 2')
    file.seek(at + len(b'"curve": "spark", "root": 0, "tasks": '))
    file.write(b"3")
TEXT
refuses "a damaged state" 1 "the state is damaged; restore it from a backup, or start with --salvage" \
	"$bin/nomora-schedd" schedd --state "$dir/state" --socket "$NOMORA_SCHEDD"
"$bin/nomora-schedd" schedd --state "$dir/state" --socket "$NOMORA_SCHEDD" --salvage 2>"$dir/log" &
daemon=$!
echo $daemon >"$dir/schedd.pid"
wait_for 30 "$nomora" jobs >/dev/null 2>&1
check "--salvage takes over the rows with a right checksum" test "$("$nomora" jobs --json | jq '.jobs | length')" -eq $(($(jq length <<<"$jobs") - 1))
check "and names the others" grep -q "left out row '.*' of jobs: its checksum is wrong" "$dir/log"
check "and keeps the damaged file" ls "$dir"/state.damaged-*
kill "$daemon"
wait "$daemon"

# NOMORA_ABUSE_S: duration of each kind of abuse.
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 12345 --regid 12345 --clear-groups true 2>/dev/null; then
	run timeout 300 python3 "$(dirname "$0")/schedd_abuse.py" "$bin" "$source_root/curves" "${NOMORA_ABUSE_S:-0.4}"
	[ "$code" -eq 0 ] && pass "a user who misbehaves leaves the daemon to others" || fail "abuse" "$out" "$err"
else
	skip "abuse" "needs root"
fi

if command -v systemd-analyze >/dev/null; then
	for unit in nomora-schedd nomora-slurm-agent; do
		sed "s:^ExecStart=[^ ]*/:ExecStart=$bin/:" "$bin/../integrations/$unit.service" >"$dir/$unit.service"
		run systemd-analyze verify --man=no "$dir/$unit.service"
		check "systemd likes $unit" test "$code:$out$(grep "$unit" <<<"$err")" = 0:
		check "and finds it safe" systemd-analyze security --offline=true --threshold=20 --no-pager "$dir/$unit.service"
		check "its folder is not kept, so that users of DynamicUser= reach it, and has no other unit" \
			test "$(grep -c '^RuntimeDirectoryPreserve' "$dir/$unit.service"):$(grep -lx "$(grep '^RuntimeDirectory=' "$dir/$unit.service")" "$source_root"/integrations/systemd/*.service | wc -l)" = 0:1
	done
else
	skip "the units" "systemd-analyze is not installed"
fi
plan

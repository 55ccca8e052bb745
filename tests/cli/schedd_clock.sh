#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora schedd with clock problems: the daemon is stopped for a while (NOMORA_STOP_S seconds); the wall clock jumps by
# a day.
# schedd_clock.sh BIN SOURCE CLOCK_STEP: a library to preload.
. "$(dirname "$0")/lib.sh"
preload=$3

dir=$(mktemp -d /tmp/nomora-clock.XXXXXX)
export NOMORA_SCHEDD=$dir/socket
daemon=
at_exit bash -c "kill -9 \$(cat $dir/pid); rm -rf $dir"
cat >"$dir/cluster.json" <<'TEXT'
{"schema": "nomora.cluster/1", "machines": [
 {"name": "h1", "rack": "r1", "slots": 4}, {"name": "h2", "rack": "r1", "slots": 4}, {"name": "h3", "rack": "r2", "slots": 4}]}
TEXT
# mesh STEP: measurements of hosts whose clocks are wrong by STEP seconds.
mesh() {
	local a b
	{
		echo "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at"
		for a in h1 h2 h3; do for b in h1 h2 h3; do [ $a = $b ] || echo "$a,$b,20,20,20,0,100,$(($(date +%s) + $1))"; done; done
	} >"$dir/new.csv"
	mv "$dir/new.csv" "$dir/latency.csv"
}
# start TIMEOUT: starts the daemon; an executor has TIMEOUT seconds to start a task.
start() {
	NOMORA_CLOCK_STEP=$dir/step LD_PRELOAD=$preload "$bin/nomora-schedd" schedd --state "$dir/state" --socket "$NOMORA_SCHEDD" --latency "$dir/latency.csv" \
		--max-age 600 --retry 0.1 --start-timeout "$1" --migrate on --cluster "$dir/cluster.json" --curves "$source_root/curves" 2>>"$dir/log" &
	daemon=$!
	echo $daemon >"$dir/pid"
	wait_for 30 "$nomora" jobs >/dev/null 2>&1
}
ask() { curl -s -m 120 --unix-socket "$NOMORA_SCHEDD" -X "$1" ${3+-H "Content-Type: application/json" --data-binary "$3"} "http://localhost$2"; }
field() { "$nomora" jobs "$1" --json | jq -r ".tasks[] | select(.name == \"$2\").$3"; }
in_state() { [ "$(field "$1" "$2" state)" = "$3" ]; }
decisions() { ask GET '/v1/decisions?after=0' | jq .last; }
job() { ask POST '/v1/jobs?move=1' "{\"id\": \"$1\", \"curve\": \"memcached\", \"root\": 0, \"tasks\": $2}" >/dev/null; }
started() { ask POST /v1/events "{\"event\": \"started\", \"job\": \"$1\", \"task\": \"$2\", \"machine\": \"$(field "$1" "$2" machine)\"}" >/dev/null; }
measured() { [ "$(ask GET /metrics | sed -n 's/^nomora_schedd_measured_pairs //p')" = 3 ]; }

# --- stopped for longer than an executor has to report
echo 0 >"$dir/step"
mesh 0
start 3
cat >"$dir/stop.py" <<'TEXT'
import http.client, json, os, signal, socket, sys, time
def begin(method, path, body=None):
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(sys.argv[1])
    connection.request(method, path, body, {"Content-Type": "application/json"})
    return connection
answer = lambda connection: json.loads(connection.getresponse().read())
decided = begin("GET", "/v1/decisions?after=0&wait=1")
answer(begin("POST", "/v1/jobs", json.dumps({"id": "one", "curve": "memcached", "root": 0, "tasks": 1})))
machine = answer(decided)["decisions"][0]["to"]
os.kill(int(sys.argv[2]), signal.SIGSTOP)
report = begin("POST", "/v1/events", json.dumps({"event": "started", "job": "one", "task": "t0", "machine": machine}))
time.sleep(float(sys.argv[3]))
os.kill(int(sys.argv[2]), signal.SIGCONT)
print(machine, json.dumps(answer(report)))
TEXT
run python3 "$dir/stop.py" "$NOMORA_SCHEDD" "$daemon" "${NOMORA_STOP_S:-4}"
check "a report that came while the daemon was stopped counts" test "${out#* }" = '{"taken": 1}'
check "the task stays where it was started" test "$(field one t0 state) $(field one t0 machine) $(field one t0 attempts) $(decisions)" = "running ${out%% *} 0 1"
kill "$daemon"
wait "$daemon"

# --- the wall clock jumps
start 60
job two 3
check "a job is decided" wait_for 30 in_state two t2 decided
for task in t0 t1; do started two $task; done
before=$(decisions)
for step in 86400 -86400 0; do
	echo $step >"$dir/step"
	mesh "$step"
	check "$step s: the mesh is used" wait_for 30 measured
	job "at$step" 1
	check "$step s: a job is decided" wait_for 30 in_state "at$step" t0 decided
	before=$((before + 1))
	check "$step s: nothing else is" test "$(decisions)" = $before
	check "$step s: running tasks run, decided ones wait for their start" test "$(field two t0 state) $(field two t1 state) $(field two t2 state)" = "running running decided"
	check "$step s: for a minute at most" jq -e '.tasks | all(.since_s >= 0 and .since_s < 600)' <<<"$("$nomora" jobs two --json)"
done
# Restarted after running with a clock that was a day ahead, and the reverse.
for step in 86400 -86400; do
	echo $step >"$dir/step"
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null
	start 60
	check "$step s at the start: all is known" test "$(field two t0 state) $(field two t1 state) $(decisions)" = "running running $before"
	job "again$step" 1
	check "$step s at the start: a job is decided" wait_for 30 in_state "again$step" t0 decided
	before=$(decisions)
done
check "no complaint but of the mesh" test "$(grep -v 'latency.csv\|serving on' "$dir/log")" = ""
kill "$daemon"
wait "$daemon"
check "SIGTERM ends it with 0" test $? -eq 0
plan

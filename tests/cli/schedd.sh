#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora schedd and its client: decisions, reports, restarts after SIGKILL, refusals.
. "$(dirname "$0")/lib.sh"

# The path of a unix socket must be short.
dir=$(mktemp -d /tmp/nomora-schedd.XXXXXX)
export NOMORA_SCHEDD=$dir/socket
daemon=
at_exit bash -c "kill -9 \$(cat $dir/pid); rm -rf $dir"

cat >"$dir/cluster.json" <<'TEXT'
{"schema": "nomora.cluster/1", "machines": [
 {"name": "h1", "rack": "r1", "slots": 2}, {"name": "h2", "rack": "r1", "slots": 2},
 {"name": "h3", "rack": "r2", "slots": 2}, {"name": "h4", "rack": "r2", "slots": 2}]}
TEXT
# mesh NEAR FAR: round trips within and between the racks; replaces the file by rename.
mesh() {
	local a b
	{
		echo "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at"
		for a in 1 2 3 4; do
			for b in 1 2 3 4; do
				[ $a = $b ] || echo "h$a,h$b,$([ $(((a - 1) / 2)) = $(((b - 1) / 2)) ] && echo "$1,$1,$1" || echo "$2,$2,$2"),0,100,$(date +%s)"
			done
		done
	} >"$dir/new.csv"
	mv "$dir/new.csv" "$dir/latency.csv"
}
start() {
	"$bin/nomora-schedd" schedd --state "$dir/state" --socket "$NOMORA_SCHEDD" --latency "$dir/latency.csv" --max-age 0 --retry 0.1 "$@" 2>>"$dir/log" &
	daemon=$!
	echo $daemon >"$dir/pid"
	wait_for 30 "$nomora" jobs >/dev/null 2>&1
}
# ask METHOD PATH [BODY]
ask() { curl -s --unix-socket "$NOMORA_SCHEDD" -X "$1" ${3+-H "Content-Type: application/json" --data-binary "$3"} "http://localhost$2"; }
# field JOB TASK FIELD
field() { "$nomora" jobs "$1" --json | jq -r ".tasks[] | select(.name == \"$2\").$3"; }
in_state() { [ "$(field "$1" "$2" state)" = "$3" ]; }
report() { ask POST /v1/events "{\"event\": \"$1\", \"job\": \"$2\", \"task\": \"$3\", \"machine\": \"$(field "$2" "$3" machine)\"}"; }

mesh 10 400
echo '{"id": "web", "curve": "memcached", "root": "server", "tasks": ["server", "client1", "client2"]}' >"$dir/jobs.jsonl"
start --cluster "$dir/cluster.json" --curves "$source_root/curves" --migrate on --migrate-gain 0.05 --start-timeout 60

run "$nomora" submit --move "$dir/jobs.jsonl"
check "a job is accepted" test "$out" = "web accepted"
run "$nomora" submit --move "$dir/jobs.jsonl"
check "the same again is known" test "$out" = "web known"
sed 's/client2/client9/' "$dir/jobs.jsonl" >"$dir/other.jsonl"
refuses "another job of this name" 1 "job 'web' exists with another description" "$nomora" submit "$dir/other.jsonl"
wait_for 30 in_state web client2 decided
check "all three are decided" test "$("$nomora" jobs --json | jq '.jobs[0].decided')" -eq 3
racks=$(for task in server client1 client2; do case $(field web $task machine) in h1 | h2) echo r1 ;; *) echo r2 ;; esac; done | sort -u | wc -l)
check "within one rack" test "$racks" -eq 1
run "$nomora" explain web/client2
check "explained by measured round trips" grep -qE 'measured +1\.000' <<<"$out"
for task in server client1 client2; do report started web $task >/dev/null; done
check "confirmed" in_state web client2 running
echo '{"id": "whole", "curve": "spark", "root": 0, "tasks": 6, "minimum_tasks": 6, "migrate_gain": 0.2}' >"$dir/whole.jsonl"
"$nomora" submit "$dir/whole.jsonl" >/dev/null
held() { "$nomora" explain whole/t1 | grep -q 'waits until 6 tasks of its job can start together; free slots: [0-9]'; }
check "a job with a minimum waits whole" wait_for 30 held
check "a minimum over the number of tasks" grep -q 'body:1: minimum_tasks: ' <<<"$(ask POST /v1/jobs '{"id": "x", "curve": "spark", "root": 0, "tasks": 2, "minimum_tasks": 3}')"

kill -9 "$daemon"
wait "$daemon" 2>/dev/null
start --migrate on --migrate-gain 0.05
check "SIGKILL loses nothing" test "$("$nomora" jobs --json | jq -c '[.jobs[0].running, .jobs[0].waiting]')" = '[3,0]'
check "a second daemon on this state is refused" test "$("$bin/nomora-schedd" schedd --state "$dir/state" --socket "$dir/two" 2>&1 | grep -c 'another process has this state file open')" -eq 1
run "$nomora" submit --move "$dir/jobs.jsonl"
check "the job is known after the restart" test "$out" = "web known"
check "the minimum, too" held
check "a cluster with a slot more takes it" ask PUT /v1/machines/h4 '{"slots": 3}'
check "all at a time" wait_for 30 in_state whole t5 decided
"$nomora" jobs --cancel whole
ask PUT /v1/machines/h4 '{"slots": 2}' >/dev/null

host=$(field web client2 machine)
check "drain" "$nomora" drain "$host"
one_moves() { in_state web client2 moving || in_state web client1 moving; }
wait_for 30 one_moves
check "a drained machine's task moves" test "$(field web client2 state)$(field web client1 state)" != runningrunning
for task in server client1 client2; do report started web $task >/dev/null; done
wait_for 30 test "$("$nomora" nodes --json | jq "[.machines[] | select(.name == \"$host\").tasks][0]")" -eq 0
check "and leaves it" test "$("$nomora" nodes --json | jq "[.machines[] | select(.name == \"$host\").tasks][0]")" -eq 0
check "back" "$nomora" drain --back "$host"

# A job whose tasks cannot start.
echo '{"id": "bad", "curve": "spark", "root": 0, "tasks": 1}' >"$dir/bad.jsonl"
"$nomora" submit "$dir/bad.jsonl" >/dev/null
for attempt in 1 2 3 4 5; do
	wait_for 30 in_state bad t0 decided
	report failed bad t0 >/dev/null
done
check "given up after five failures" in_state bad t0 failed
run "$nomora" explain bad/t0
check "and says so" grep -q 'given up after 5 attempts' <<<"$out"
check "cancelled" "$nomora" jobs --cancel bad
refuses "an unknown job" 1 "unknown job 'bad'" "$nomora" jobs bad
run "$nomora" explain bad/t0
check "a task that is gone is explained by its decisions" test "$(grep -c '^place   bad/t0' <<<"$out")" -eq 5
refuses "a task that never was" 1 "unknown task 't9'" "$nomora" explain bad/t9

metrics=$(ask GET /metrics)
check "metrics" grep -q '^nomora_schedd_tasks{state="running"} 3$' <<<"$metrics"
check "no gap without --gap" test "$(grep -c nomora_schedd_cost <<<"$metrics")" -eq 0
if command -v promtool >/dev/null; then
	check "promtool finds the metrics clean" promtool check metrics <<<"$metrics"
fi
check "healthy" test "$(ask GET /healthz)" = ok
refuses "an unknown machine" 1 "unknown machine 'h9'" "$nomora" drain h9
check "no such path" test "$(ask GET /v2/jobs)" = '{"error": "no such path"}'
check "bad JSON names its line" grep -q 'body:1: ' <<<"$(ask POST /v1/events '{')"
check "an unknown curve" grep -q "unknown curve 'none'" <<<"$(ask POST /v1/jobs '{"id": "x", "curve": "none", "root": 0, "tasks": 1}')"
check "a bad second line is named" grep -q 'body:2: ' <<<"$(ask POST /v1/jobs "$(printf '%s\n{' "$(cat "$dir/jobs.jsonl")")")"
check "more than 10,000 lines" grep -q 'more than 10000 lines' <<<"$(yes | head -n 10001 | ask POST /v1/jobs @-)"
check "a restart cost that is no number" grep -q "bad restart_s 'soon'" <<<"$(ask POST '/v1/jobs?restart_s=soon' '{"id": "x", "curve": "spark", "root": 0, "tasks": 1}')"
check "a job larger than the cluster" grep -q '9 tasks, the cluster has 8 slots' <<<"$(ask POST /v1/jobs '{"id": "x", "curve": "spark", "root": 0, "tasks": 9}')"

# Machines and curves by the API; requests that are refused change nothing.
# answers METHOD PATH BODY TEXT: the answer, which has the status as its last line, is this text
answers() { check "$1 $2: $4" test "$(curl -s -w '\n%{http_code}' --unix-socket "$NOMORA_SCHEDD" -X "$1" -H "Content-Type: application/json" --data-binary "$3" "http://localhost$2" | paste -sd ' ')" = "$4"; }
answers PUT /v1/machines/spare '{"state": "up"}' "{\"error\": \"unknown machine 'spare'; a new one needs \\\"slots\\\"\"} 404"
answers PUT /v1/machines/spare '{"rack": "r9", "pod": "p9", "slots": 7, "state": "draining"}' '{"machine": "spare"} 200'
spare() { ask GET /v1/machines | jq -c '.machines[] | select(.name == "spare") | [.rack, .pod, .slots, .tasks, .state]'; }
check "its fields" test "$(spare)" = '["r9","p9",7,0,"draining"]'
answers PUT /v1/machines/spare '{"slots": 5}' '{"machine": "spare"} 200'
check "fields that are not given stay" test "$(spare)" = '["r9","p9",5,0,"draining"]'
answers PUT /v1/machines/spare '{"state": "off"}' "{\"error\": \"body: state: unknown state 'off'; expected up, draining or down\"} 400"
answers PUT /v1/machines/spare '{"slots": -1}' '{"error": "body: slots: found -1, expected a whole number from 0 to 100000"} 400'
check "and nothing has changed" test "$(spare)" = '["r9","p9",5,0,"draining"]'
answers DELETE /v1/machines/spare '' '{"removed": "spare"} 200'
answers DELETE /v1/machines/spare '' "{\"error\": \"unknown machine 'spare'\"} 404"
check "it is gone" test "$(spare)" = ""
answers PUT /v1/curves/mine "@$source_root/curves/spark.json" '{"curve": "mine"} 200'
check "a curve is added" test "$(ask GET /v1/curves | jq -c '.curves | index("mine") != null')" = true
answers PUT /v1/curves/none '{}' '{"error": "body: schema: missing, expected a string"} 400'
answers POST /v1/events '{"event": "dance", "job": "web", "task": "client1"}' "{\"taken\": 0, \"error\": \"body:1: event: unknown event 'dance'; expected started, ended or failed\"} 400"
answers POST /v1/events '{"event": "ended", "job": "web", "task": "client9"}' "{\"taken\": 0, \"error\": \"unknown task 'client9' of job 'web'\"} 404"
answers GET /v1/explain/web '' '{"error": "expected /v1/explain/JOB/TASK"} 400'
answers POST /v1/jobs '' '{"jobs": [], "error": "the body is empty; expected lines of jobs.jsonl"} 400'
answers POST /v1/what-if '{"changes": [1]}' '{"error": "body: changes: expected strings"} 400'
thousand=$(yes '"up h1",' | head -n 1000 | tr -d '\n')
answers POST /v1/what-if "{\"changes\": [$thousand \"up h1\"]}" '{"error": "body: changes: expected at most 1000 changes"} 400'

# The complete journal, for the simulator.
"$nomora" submit - <<<'{"id": "ring", "curve": "spark", "root": "b", "tasks": ["a", "b", "c"], "graph": "ring"}' >/dev/null
"$nomora" jobs --cancel ring
run "$nomora" schedd export
printf '%s\n' "$out" >"$dir/journal.jsonl"
check "the journal begins with its schema" grep -q '^{"schema": *"nomora.journal/1"' "$dir/journal.jsonl"
check "the graph of a job is in it, by the names of the tasks" grep -qF '"job": "ring", "curve": "spark", "root": "b", "graph": [["a", "b", 1.0], ["a", "c", 1.0], ["b", "c", 1.0]]' \
	"$dir/journal.jsonl"
check "it has a line for each decision" test "$(grep -c '"event":"decision"\|"event": "decision"' "$dir/journal.jsonl")" -eq "$(ask GET '/v1/decisions?after=0' | jq .last)"
run "$nomora" simulate --journal "$dir/journal.jsonl" -o "$dir/replayed" --json
check "the simulator replays it" test "$code" -eq 0
check "the removal of a machine names its rack, the last machine of which it was" grep -q '"machine": "spare", "rack": "r9".*"state": "removed"' "$dir/journal.jsonl"
for time in 1 2; do "$nomora" simulate --journal "$dir/journal.jsonl" --policy nomora --record "$dir/again$time.jsonl" -o "$dir/replayed$time" >/dev/null 2>&1; done
check "twice in the same way" cmp "$dir/again1.jsonl" "$dir/again2.jsonl"
refuses "a window that is none" 2 "--migrate-window: bad windows '25:00-26:00'" "$bin/nomora-schedd" schedd --state "$dir/none" --migrate-window 25:00-26:00

# Forecasts change nothing.
before=$(ask GET /v1/machines)
run "$nomora" what-if 'drain rack r1' 'add 2 machines like h1' --within 0
check "what-if shows the difference" grep -q '^machines  *4  *6$' <<<"$out"
echo '{"id": "more", "curve": "spark", "root": 0, "tasks": 4}' >"$dir/more.jsonl"
run "$nomora" submit --dry-run "$dir/more.jsonl"
check "a dry run shows where tasks would go" grep -q '^place   more/t1 ' <<<"$out"
run "$nomora" drain --scope rack r2 --dry-run --json
check "a dry run of a drain, as JSON" test "$(jq -r .schema <<<"$out")" = nomora.what_if/1
check "and nothing is done" test "$(ask GET /v1/machines)" = "$before"
refuses "a change that is none" 1 "unknown change 'burn r1'" "$nomora" what-if 'burn r1'
refuses "an unknown rack" 1 "unknown rack 'r9'" "$nomora" what-if 'drain rack r9'
refuses "no change" 2 "missing operand CHANGE" "$nomora" what-if

# A truncated mesh changes nothing.
head -c 150 "$dir/latency.csv" >"$dir/cut.csv" && mv "$dir/cut.csv" "$dir/latency.csv"
wait_for 30 grep -q 'latency.csv:' "$dir/log"
check "a cut mesh is reported and not used" grep -q 'latency.csv:' "$dir/log"


kill "$daemon"
wait "$daemon"
check "SIGTERM ends it with 0" test $? -eq 0
run "$nomora" schedd export --state "$dir/state"
check "the journal of a state without a daemon begins like that of the daemon" cmp -s <(head -n "$(wc -l <"$dir/journal.jsonl")" <<<"$out") "$dir/journal.jsonl"
refuses "no such state" 1 "unable to open database file" "$nomora" schedd export --state "$dir/none"
daemon=
check "the socket is removed" test ! -e "$NOMORA_SCHEDD"
refuses "no daemon" 1 "no daemon answers" "$nomora" jobs
refuses "no state" 2 "missing option --state" "$bin/nomora-schedd" schedd
printf 'not a database, but long enough for its header to be looked at by all means, and then some more text to make it so\n' >"$dir/foreign"
refuses "a foreign state" 1 "foreign: " "$bin/nomora-schedd" schedd --state "$dir/foreign" --socket "$dir/three"
echo secret >"$dir/token"
refuses "a token that others can read" 1 "others can read it; expected mode 0600" "$bin/nomora-schedd" schedd --state "$dir/state" --listen 127.0.0.1:0 --token-file "$dir/token"

# A full disk: changes are refused and queries answered; when there is space again, changes work.
mkdir "$dir/small"
if mount -t tmpfs -o size=400k none "$dir/small" 2>/dev/null; then
	at_exit umount -l "$dir/small"
	"$bin/nomora-schedd" schedd --state "$dir/small/state" --socket "$NOMORA_SCHEDD" --cluster "$dir/cluster.json" --curves "$source_root/curves" 2>"$dir/full.log" &
	daemon=$!
	echo $daemon >"$dir/pid"
	wait_for 30 "$nomora" jobs >/dev/null 2>&1
	head -c 200000 /dev/zero >"$dir/small/ballast"
	accepted=0
	for number in $(seq 60); do
		answer=$(ask POST /v1/jobs "{\"id\": \"full$number\", \"curve\": \"spark\", \"root\": 0, \"tasks\": 2}")
		grep -q '"status": 201' <<<"$answer" || break
		accepted=$number
	done
	check "a full disk refuses a job" grep -q 'cannot be written' <<<"$answer"
	check "which health says" grep -q 'disk is full' <<<"$(ask GET /healthz)"
	run "$nomora" jobs --json
	check "the accepted jobs can be seen meanwhile" test "$(jq '.jobs | length' <<<"$out")" -eq "$accepted"
	rm "$dir/small/ballast"
	check "with space again jobs are taken" wait_for 30 bash -c "$nomora submit - <<<'{\"id\": \"after\", \"curve\": \"spark\", \"root\": 0, \"tasks\": 1}'"
	check "none is lost" test "$("$nomora" jobs --json | jq '.jobs | length')" -eq $((accepted + 1))
	check "the log says it once" test "$(grep -c 'cannot be written' "$dir/full.log")" -eq 1
	kill "$daemon"
	wait "$daemon"
	daemon=
	umount "$dir/small"
else
	skip "a full disk" "file systems cannot be mounted here"
fi

# A live matrix in shared memory: read in place, each window; tasks wait for unmeasured pairs.
row() { echo "$1,$2,$3,$3,$3,0,100,$(date +%s)"; }
rows() {
	echo "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at"
	cat
}
row h1 h2 10 | rows >"$dir/window.csv"
"$nomora" mesh merge "$dir/window.csv" --live "$dir/matrix" >"$dir/merge.log" 2>&1
"$bin/nomora-schedd" schedd --state "$dir/state2" --socket "$NOMORA_SCHEDD" --latency "$dir/matrix" --max-age 3600 --require-measured \
	--cluster "$dir/cluster.json" --curves "$source_root/curves" --no-executor --gap 2>>"$dir/log" &
daemon=$!
echo $daemon >"$dir/pid"
wait_for 30 "$nomora" jobs >/dev/null 2>&1
pairs() { [ "$(ask GET /metrics | sed -n 's/^nomora_schedd_measured_pairs //p')" = "$1" ]; }
check "a live matrix is read" wait_for 30 pairs 1
echo '{"id": "far", "curve": "memcached", "root": 0, "tasks": ["a", "b", "c", "d", "e"]}' >"$dir/far.jsonl"
"$nomora" submit "$dir/far.jsonl" >/dev/null
counted() { [ "$("$nomora" jobs --json | jq -c '[.jobs[0].running, .jobs[0].waiting]')" = "$1" ]; }
wait_for 30 in_state far a running
check "tasks wait for measurements" test "$("$nomora" jobs --json | jq '.jobs[0].waiting')" -ge 1
for a in 1 2 3 4; do for b in 1 2 3 4; do [ $a = $b ] || row h$a h$b 20; done; done | rows >"$dir/window.csv"
"$nomora" mesh merge "$dir/window.csv" --live "$dir/matrix" >"$dir/merge.log" 2>&1
check "a new window is seen" wait_for 30 pairs 6
check "and they start" wait_for 30 counted '[5,0]'
of() { ask GET /metrics | sed -n "s/^nomora_schedd_$1 //p"; }
check "the gap of the rounds" jq -ne "$(of cost_total) >= $(of cost_bound_total) and $(of cost_bound_total) > 0"
check "the decisions say what was measured" test "$(ask GET '/v1/decisions?after=0' | jq '.decisions[-1].measured == 1')" = true
kill "$daemon"
wait "$daemon"
daemon=

# A mesh that is no longer updated: h1 and h3 are near although in different racks; after --max-age (rows are from this
# second or the previous one), their round trip is unknown.
for pair in "h1 h3 10" "h3 h1 10" "h1 h2 400" "h3 h4 400" "h1 h4 400" "h3 h2 400" "h2 h4 400"; do
	# shellcheck disable=SC2086
	row $pair
done | rows >"$dir/dying.csv"
sed 's/"slots": 2/"slots": 1/g' "$dir/cluster.json" >"$dir/single.json"
"$bin/nomora-schedd" schedd --state "$dir/state5" --socket "$NOMORA_SCHEDD" --latency "$dir/dying.csv" --max-age 4 --migrate on --migrate-gain 0.02 \
	--cluster "$dir/single.json" --curves "$source_root/curves" --no-executor 2>>"$dir/log" &
daemon=$!
echo $daemon >"$dir/pid"
wait_for 30 pairs 6
echo '{"id": "near", "curve": "memcached", "root": 0, "tasks": 2}' | "$nomora" submit --move - >/dev/null
wait_for 30 in_state near t1 running
check "a task runs in the rack that the mesh says" test "$(field near t0 machine),$(field near t1 machine)" = h1,h3
wait_for 30 pairs 0
unmeasured() { [ "$(ask GET /metrics | sed -n 's/^nomora_schedd_moves_withheld_total{reason="unmeasured"} //p')" -ge 1 ]; }
check "the mesh dies: the move that the topology suggests is withheld" wait_for 30 unmeasured
check "the task stays" test "$(field near t1 machine)" = h3
check "and why is said" grep -q "is not measured" <<<"$("$nomora" explain near/t1)"
echo '{"id": "late", "curve": "memcached", "root": 0, "tasks": 2}' | "$nomora" submit --move - >/dev/null
wait_for 30 in_state late t1 running
check "decisions say topology" test "$(ask GET '/v1/decisions?after=0' | jq -r '.decisions[-1] | [.kind, .origin, .measured == 0] | join(" ")')" = "place topology true"
check "the age of the mesh, for the alarm, is over --max-age" test "$(ask GET /metrics | sed -n 's/^nomora_schedd_mesh_age_seconds \([0-9]*\).*/\1/p')" -ge 3
kill "$daemon"
wait "$daemon"
daemon=

# curves_of STATE [OPTION...]: the curves of a daemon with this state. Its working folder has none.
curves_of() {
	(cd "$dir" && exec "$bin/nomora-schedd" schedd --state "$@" --socket "$NOMORA_SCHEDD" --cluster "$dir/cluster.json" --no-executor 2>>"$dir/log") &
	daemon=$!
	echo $daemon >"$dir/pid"
	wait_for 30 "$nomora" jobs >/dev/null 2>&1
	curves=$(ask GET /v1/curves | jq -r '.curves | sort | join(" ")')
	kill "$daemon"
	wait "$daemon"
	daemon=
}
mkdir "$dir/own"
cp "$source_root/curves/spark.json" "$dir/own/mine.json"
curves_of "$dir/state3"
check "a new state has the curves that come with nomora" test "$curves" = "$(cd "$source_root/curves" && LC_ALL=C ls | sed -n 's/\.json$//p' | paste -sd ' ')"
curves_of "$dir/state4" --curves "$dir/own"
check "--curves names others" test "$curves" = mine
curves_of "$dir/state4"
check "which a state keeps" test "$curves" = mine

if [ -n "$(command -v python3)" ]; then
	run timeout 200 python3 "$(dirname "$0")/schedd_forecast.py" "$bin" "$dir" "$source_root/curves" "${NOMORA_FORECASTS:-60}"
	[ "$code" -eq 0 ] && pass "what follows from random changes is what was forecast" || fail "forecasts" "$out" "$err"
	kills=${NOMORA_KILLS:-25}
	run timeout $((200 + 4 * kills)) python3 "$(dirname "$0")/schedd_crash.py" "$bin" "$dir" "$source_root/curves" "$kills"
	[ "$code" -eq 0 ] && pass "$kills kills at random moments: no acknowledged job lost, no machine over-full" || fail "kills at random moments" "$out" "$err"
fi

# The order of docs/slurm.md: schedd has the mesh before the agent adds the nodes.
mesh 10 400
"$bin/nomora-schedd" schedd --state "$dir/state7" --socket "$NOMORA_SCHEDD" --latency "$dir/latency.csv" --max-age 0 --curves "$source_root/curves" 2>"$dir/late" &
daemon=$!
echo $daemon >"$dir/pid"
check "rows of machines that are not there yet are left out" wait_for 30 grep -q 'left out 12 rows of unknown machines' "$dir/late"
for host in h1 h2 h3 h4; do ask PUT "/v1/machines/$host" '{"rack": "r1", "slots": 1}' >/dev/null; done
measured() { [ "$(ask GET /v1/overview | jq .totals.measured_pairs)" -ge 6 ]; }
check "and taken when the machines appear" wait_for 30 measured
kill "$daemon"
wait "$daemon"
plan

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A workload through the API, with an executor, churn, moves and a SIGKILL: the simulator repeats the daemon's decisions from its journal, byte for
# byte. By default ten minutes of 40 machines; NOMORA_DAY=1 plays a day, of the Google trace in NOMORA_DATA where it is, at 60 times its speed;
# NOMORA_DAY_MIGRATE=off leaves tasks where they are, as the simulator's policy then does; NOMORA_DAY_LIMITS=off moves them without limits and at no
# cost, as that policy does. NOMORA_DAY_SLOTS=16 gives machines 16 slots: with 12 the trace fills them all.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d /tmp/nomora-day.XXXXXX)
at_exit bash -c "kill -9 \$(cat $dir/pid) 2>/dev/null; rm -rf $dir"
machines=40 hours=0.2 speed=120
if [ "${NOMORA_DAY:-0}" = 1 ]; then
	machines=${NOMORA_DAY_MACHINES:-1250} hours=${NOMORA_DAY_HOURS:-24} speed=60
fi
data=${NOMORA_DATA:-$source_root/../shared/data}/google2011
if [ "${NOMORA_DAY:-0}" = 1 ] && [ -d "$data" ]; then
	trace=(--trace "$data" --fraction "$(jq -n "$machines / 12500")" --slots "${NOMORA_DAY_SLOTS:-12}")
else
	"$nomora" tracegen --machines $machines --hours "$hours" --load 0.95 "$dir/trace" >/dev/null
	trace=(--trace "$dir/trace")
fi
run "$nomora" simulate "${trace[@]}" --hours "$hours" --curves "$source_root/curves" --policy nomora --topology 4x8 --unscheduled-capacity 0 \
	--record "$dir/source.jsonl" -o "$dir/source"
check "a workload to play" test "$code" -eq 0
run python3 "$(dirname "$0")/schedd_day.py" "$bin" "$dir" "$source_root/curves" "$dir/source.jsonl" "$speed" 1
[ "$code" -eq 0 ] && pass "played: $out" || fail "the day" "$out" "$err" "$(tail -n 5 "$dir/day.log")"
[ "${NOMORA_DAY_MIGRATE:-on}" = off ] || check "tasks moved" test "$(jq .move <<<"$out")" -gt 0
run "$nomora" simulate --live --journal "$dir/day.jsonl" --record "$dir/again.jsonl" --json
check "every decision is made again: $(jq -c . <<<"$out")" test "$code" -eq 0
grep '"event": "decision"' "$dir/day.jsonl" >"$dir/decided.jsonl"
check "byte for byte" cmp "$dir/decided.jsonl" "$dir/again.jsonl"
live=$(jq -c .performance <<<"$out")
grep -v '"sequence": 3,' "$dir/day.jsonl" >"$dir/other.jsonl"
run "$nomora" simulate --live --journal "$dir/other.jsonl"
check "a decision that is missing is noticed" test "$code" -eq 3
grep -v '"do": "machine".*"m0"' "$dir/day.jsonl" >"$dir/other.jsonl"
refuses "a journal without one of its machines" 1 "unknown machine 'm0'" "$nomora" simulate --live --journal "$dir/other.jsonl"
refuses "no journal" 2 "--live needs --journal" "$nomora" simulate --live
policy=nomora:preemption,p_m=1000,p_r=1000
[ "${NOMORA_DAY_MIGRATE:-on}" = on ] || policy=nomora:p_m=1000,p_r=1000
end_us=$(tail -n 1 "$dir/day.jsonl" | jq .t_us)
run "$nomora" simulate --journal "$dir/day.jsonl" --policy "$policy" --hours "$(jq -n "[$end_us / 3.6e9, 0.001] | max")" --roots best --spill best \
	--interpolate --unscheduled-capacity 0 --round-s 0.1 --json -o "$dir/simulated"
check "the simulator has the workload, too" test "$code" -eq 0
echo "# performance: live $live, simulated $(jq -c '.policies[0].performance' <<<"$out")"

# Three machines of one slot, so that schedd and simulator have the same choices for each task: the figures must be
# equal. The defaults are those of the cluster's file.
cat >"$dir/cluster.json" <<'TEXT'
{"schema": "nomora.cluster/1", "default_rtt_us": {"same_machine": 2, "same_rack": 70, "same_pod": 200, "other_pod": 390}, "machines": [
 {"name": "a", "rack": "r1", "slots": 1}, {"name": "b", "rack": "r2", "slots": 1}, {"name": "c", "rack": "r3", "slots": 1}]}
TEXT
export NOMORA_SCHEDD=$dir/socket
"$bin/nomora-schedd" schedd --state "$dir/state" --socket "$NOMORA_SCHEDD" --cluster "$dir/cluster.json" --curves "$source_root/curves" --no-executor 2>>"$dir/day.log" &
echo $! >"$dir/pid"
wait_for 30 "$nomora" jobs >/dev/null 2>&1
echo '{"id": "web", "curve": "memcached", "root": 0, "tasks": 3}' | "$nomora" submit - >/dev/null
sleep 2.5 # seconds of the journal, which are compared
kill "$(cat "$dir/pid")"
wait "$(cat "$dir/pid")"
"$bin/nomora-schedd" schedd export --state "$dir/state" >"$dir/three.jsonl"
# Appended at the end, since a second is counted only when an event occurs in it.
jq -c 'select(.event == "call" and .call.do == "step")' "$dir/three.jsonl" | tail -n 1 | jq -c '.t_us += 4000000 | .call.number += 4' >>"$dir/three.jsonl"
live=$("$nomora" simulate --live --journal "$dir/three.jsonl" --json | jq .performance)
end_us=$(tail -n 1 "$dir/three.jsonl" | jq .t_us) # the submission may have come late
"$nomora" simulate --journal "$dir/three.jsonl" --policy nomora:p_m=1000,p_r=1000 --hours "$(jq -n "$end_us / 3.6e9")" --roots best --spill best --interpolate --json >"$dir/three.json"
check "one task's performance: the same live and simulated" jq -en --argjson live "$live" --slurpfile simulated "$dir/three.json" \
	'$simulated[0].policies[0].performance as $that | $live.jobs == 1 and ([$live.area - $that.area, $live.task_mean - $that.task_mean] | map(fabs) | max) < 1e-6 and $live.task_mean < 0.9'
check "round trips without a measurement are the cluster's" jq -e '.settings.latency | .rack_us == 70 and .across_us == 390' "$dir/three.json"
"$bin/nomora-schedd" schedd --state "$dir/state" --socket "$NOMORA_SCHEDD" --no-executor 2>>"$dir/day.log" &
echo $! >"$dir/pid"
wait_for 30 "$nomora" jobs >/dev/null 2>&1
kill "$(cat "$dir/pid")"
wait "$(cat "$dir/pid")"
"$bin/nomora-schedd" schedd export --state "$dir/state" | grep '"do": "begin"' | tail -n 1 >"$dir/begin.json"
check "a start without --cluster keeps them" jq -e '.call.default_rtt_us == [2, 70, 200, 390]' "$dir/begin.json"
plan

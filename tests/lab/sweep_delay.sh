#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The sweep's log says which delay the injector applied, and our own probes through the same line agree; if they do not,
# the run is refused. Wrong is an injector with a rule that gives the probes another delay than the one asked for. A sweep
# can also vary the delay of one rule.
. "$(dirname "$0")/../cli/lib.sh"
. "$(dirname "$0")/inject_lib.sh"
cd "$scratch" || exit 1
cat >delay.plan <<END
application = ping
injector = $control
server-host = netns:$prefix-a
client-host = netns:$prefix-b
server-address = 10.77.0.1
client-address = 10.77.0.2
delays = 0 10000
any-delays = true
repetitions = 2
order = ascending
attempts = 4
share-machine = true
max-stall-percent = 100
client = ping -q -n -i 0.01 -c 40 10.77.0.1
metric = rtt ms lower regex:= [0-9.]+/([0-9.]+)
rtt-check = true
END
# log NAME FILE EXPRESSION...: each expression is true of `a`, the accepted attempts in FILE.log
log() {
	local name=$1 file=$2
	shift 2
	python3 - "$file.log" "$@" >verdict 2>&1 <<'PYTHON' && pass "$name" || fail "$name" "$(cat verdict)" "$(grep -E '"(attempt|accepted)"' "$file.log")"
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
key = lambda e: (e["delay_us"], e["run"], e["attempt"])
accepted = [key(e) for e in events if e["event"] == "accepted"]
a = [e for e in events if e["event"] == "attempt" and key(e) in accepted]
for expression in sys.argv[2:]:
    assert a and eval(expression), expression
PYTHON
}

start || fail "the injector starts" "$(cat log)"
run "$nomora" sweep delay.plan -o right.csv
swept && pass "a sweep at 0 and 10000 us" || fail "a sweep at 0 and 10000 us" "exit $code" "$err"
log "our probes checked each run" right.csv 'len(a) == 4' 'all(e["rtt_by"] == "probe" for e in a)' \
	'all(abs(e["rtt_us"] - e["rtt_expected_us"]) <= 0.15 * e["rtt_expected_us"] + 30 for e in a if not e["disturbed"])' \
	'min(e["rtt_us"] for e in a if e["delay_us"] == 10000) > 20000'
# On a busy machine, many packets of a run may be late.
log "each direction's applied delay is that asked for" right.csv \
	'all(i[d]["requested_us"] == e["delay_us"] <= i[d]["applied_us"] and i[d]["applied_p99_us"] >= e["delay_us"] for e in a for i in [e["injector"]] for d in ("ab", "ba"))' \
	'min(e["injector"]["ab"]["applied_us"] for e in a if e["delay_us"] == 10000) < 100000'
log "packets received are sent or dropped by a reason" right.csv \
	'all(i["received"] >= 80 and i["received"] - i["packets"] - i["dropped"] <= 2 for e in a for i in [e["injector"]])'
run "$nomora" sweep delay.plan -o ping.csv --no-baseline -r 1 -d 10000
log "without a baseline of our own, ping checks" ping.csv 'a[0]["rtt_by"] == "ping" and a[0]["rtt_us"] >= 20000'
grep -v rtt-check delay.plan >unchecked.plan
run "$nomora" sweep unchecked.plan -o unchecked.csv -r 1 -d 10000
log "without rtt-check, the log says so" unchecked.csv 'a[0]["rtt_by"] == "none" and a[0]["rtt_unchecked"] == "rtt-check is not set"'
stop
start --rule 'udp:862 delay=0' || fail "the injector starts" "$(cat log)"
run "$nomora" sweep delay.plan -o wrong.csv -r 1 -d 10000 --attempts 2
[ "$code" -eq 3 ] && says "$err" 'round trip [0-9]+ us by probe, expected 2[0-9]{4} \([0-9]+ without delay, limit [0-9]+ off\)' &&
	pass "a line with another delay is refused" || fail "a line with another delay is refused" "exit $code" "$err" "$(cat wrong.csv.log)"
stop

# Only the packets of one rule: ping is delayed, our probes are not, and the rule has its old delay at the end.
start --rule 'proto:icmp delay=3' || fail "the injector starts" "$(cat log)"
sed 's/^rtt-check.*/rule = proto:icmp/' delay.plan >rule.plan
run "$nomora" sweep rule.plan -o rule.csv
swept && pass "a sweep of one rule's delay" || fail "a sweep of one rule's delay" "exit $code" "$err"
check "delays the rule's packets" awk -F, 'NR > 1 { if ($1 == 0) fast[++f] = $7; else slow[++s] = $7 }
	END { for (i = 1; i <= s; i++) if (slow[i] < 20) exit 1; exit !(f == 2 && s == 2 && (fast[1] < 20 || fast[2] < 20)) }' rule.csv
log "the log has that rule's delays" rule.csv 'all(abs(e["injector"][d]["requested_us"] - e["delay_us"]) < 0.01 and e["injector"][d]["applied_us"] > e["delay_us"] - 0.01 for e in a for d in ("ab", "ba"))' \
	'all(e["rtt_unchecked"] == "the delay is that of a rule" for e in a)'
rules=$("$nomora" inject-ctl "$control" stats --json | python3 -c 'import json, sys; o = json.load(sys.stdin); print(o["ab"]["rules"][0]["rule"], o["delay_ab_us"])')
is "the rule has its old delay again, and the others' delay did not change" "proto:icmp delay=3 0.0" "$rules"
refuses "a rule that the injector does not have" 1 "no rule has these conditions: start the injector with --rule 'udp:7 delay=0'" "$nomora" sweep rule.plan --rule udp:7 -o none.csv
refuses "a rule with its delay" 1 "rule.*without its delay" "$nomora" sweep rule.plan --rule 'udp:7 delay=3' -o none.csv
refuses "a rule in one direction" 1 'direction = both' "$nomora" sweep rule.plan --direction ab -o none.csv
refuses "another rule than that of the file" 1 'rule' "$nomora" sweep rule.plan --rule 'proto:icmp loss=1' -o rule.csv
stop
plan

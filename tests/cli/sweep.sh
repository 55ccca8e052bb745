#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora sweep with a real injector on two virtual ports: schedule, metrics, resuming, failures, refusals.
. "$(dirname "$0")/lib.sh"

[ -x "$bin/nomora-injector" ] || skip_all "built without DPDK: there is no injector to step"

cd "$scratch" || exit 1
touch script-begun
socket=$scratch/injector.sock
"$nomora" inject net_ring0 net_ring1 --delay-ab-us 3 --delay-ba-us 4 --nice 19 --control "$socket" >injector.log 2>&1 &
injector=$!
at_exit kill "$injector"
wait_for 20 "$nomora" inject-ctl "$socket" stats || { fail "the injector starts" "$(cat injector.log)"; plan; exit 1; }

# No traffic passes the injector, so its disturbance by this machine's other load does not matter.
plan_with() {
	printf '%s\n' "injector = $socket" 'settle-s = 0' 'max-stall-percent = 100' 'share-machine = true' "$@" 'any-delays = true'
}
good='metric = value 1 higher regex:^value = ([0-9.]+)$'

gone() { local state; state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null); [ -z "$state" ] || [ "${state%% *}" = Z ]; }

# --- what it refuses ---
refuses_plan() {
	local name=$1 code=$2 pattern=$3
	shift 3
	plan_with "$@" >bad.plan
	refuses "$name" "$code" "$pattern" "$nomora" sweep bad.plan -o bad.csv
	if compgen -G 'bad.csv*' >/dev/null; then fail "$name: leaves no file" "$(ls bad.csv*)"; rm -f bad.csv*; fi
}
refuses "a plan that is not there" 1 'missing\.plan' "$nomora" sweep missing.plan
refuses_plan "a plan without commands" 1 'bad\.plan: client: no command' "$good"
refuses_plan "a plan without metrics" 1 'metric: no metric' 'client = true'
refuses_plan "an unknown name" 1 'bad\.plan:5: clint: there is no such option' 'clint = true'
refuses_plan "a line that is none" 1 "bad\.plan:5: expected 'name = value'" 'client'
refuses_plan "an unknown way to a metric" 1 "bad\.plan:6: metric 'a': 'yaml:x': expected regex:PATTERN, only:PATTERN, json:PATH" 'client = true' 'metric = a b higher yaml:x'
refuses_plan "neither higher nor lower" 1 'expected higher or lower' 'client = true' 'metric = a b more exit'
refuses_plan "a pattern that is wrong" 1 'pattern .* is invalid' 'client = true' 'metric = a b higher regex:(('
refuses_plan "a pattern that would take gigabytes" 1 "bad\.plan:6: metric 'a': .* too large" 'client = true' 'metric = a b higher regex:(((a{1,255}){1,255}){1,255})'
refuses_plan "a metric twice" 1 "bad\.plan:7: duplicate metric name 'value', first in line 6" 'client = true' "$good" 'metric = value s lower elapsed'
refuses_plan "more metrics than a file takes" 1 "bad\.plan:70: metric 'm65 .*': expected at most 64" 'client = true' \
	"$(for i in {1..65}; do echo "metric = m$i s lower elapsed"; done)"
refuses_plan "a delay of -1" 1 'bad\.plan:7: delays: .* out of range' 'client = true' "$good" 'delays = -1'
refuses_plan "a delay of 10^9" 1 'out of range' 'client = true' "$good" 'delays = 0 1e9'
refuses_plan "a word among the delays" 1 "bad\.plan:7: delays: 'five': expected a number" 'client = true' "$good" 'delays = 0 five'
refuses_plan "a delay between two steps" 1 "bad\.plan:7: delays: '0.26': 0.26 us: expected steps of 0.1" 'client = true' "$good" 'delays = 0.26 12.34'
refuses_plan "a range that goes nowhere" 1 'FROM <= TO' 'client = true' "$good" 'delays = 9..1/2'
refuses_plan "a value out of range" 1 'bad\.plan:5' 'repetitions = 0'
refuses_plan "injector and lab" 1 'mutually exclusive' 'client = true' "$good" 'lab = lab9'
plan_with 'client = true' "$good" >bad.plan
refuses "a metric of the file on the command line again" 2 "error: duplicate metric name 'value', first in line 6" \
	"$nomora" sweep bad.plan -o bad.csv --metric 'value 1 higher exit'
refuses "a word among the delays of the command line" 2 "delays: 'x'" "$nomora" sweep bad.plan --delays 5,x
check "a word among the delays of the command line has no line of the file" sh -c "grep -q \"error: delays: 'x'\" err"
refuses_plan "a host of an unknown kind" 1 "bad\.plan:7: client-host: host 'h9'" 'client = true' "$good" 'client-host = h9'
printf '%s\n' 'client = true' "$good" 'lab = lab9' 'lab-inject = h7' >place.plan
refuses "a place that the lab does not have" 1 "place\.plan:4: no place 'h7'" "$nomora" sweep place.plan -o place.csv
printf 'injector = %s/nobody.sock\nclient = true\n%s\nshare-machine = true\n' "$scratch" "$good" >absent.plan
refuses "an injector that is not there" 1 'nobody\.sock' "$nomora" sweep absent.plan -o absent.csv
run "$nomora" sweep -o start.csv --injector "$scratch/nobody.sock" --metric 'v 1 higher exit' -- true
check "a command line that did not start leaves no plan in the way of the next" sh -c "[ $code -eq 1 ] && [ ! -e start.plan ]"
check "which leaves no file" sh -c '! ls absent.csv*'
"$nomora" inject net_ring0 net_ring1 --steps 0:500 --nice 19 --control "$scratch/steps.sock" >steps.log 2>&1 &
steps=$!
at_exit kill "$steps"
wait_for 20 "$nomora" inject-ctl "$scratch/steps.sock" stats
refuses "an injector that sets its delay itself" 1 "steps\.sock: delay_set_by: --steps sets this injector's delay.* without --steps" \
	"$nomora" sweep absent.plan -o steps.csv --injector "$scratch/steps.sock"
check "which leaves no file either" sh -c '! ls steps.csv*'
kill "$steps"
wait "$steps"
: >absent.csv
refuses "no injector for a file that was there" 1 'nobody\.sock' "$nomora" sweep absent.plan -o absent.csv
check "which stays" test -e absent.csv
run "$nomora" sweep absent.plan -o absent.csv --client 'echo value = 1' --injector "$socket" --delays 0 --any-delays --max-stall-percent 100
[ "$code" -eq 0 ] && [ "$(wc -l <absent.csv)" -eq 4 ] && pass "a file without rows is no other plan's" || fail "a file without rows is no other plan's" "$err"

# --- plans that cannot give a curve, and help with writing one ---
curve_plan() { printf '%s\n' "injector = $socket" 'settle-s = 0' 'max-stall-percent = 100' 'share-machine = true' "$@" >curve.plan; }
curve_plan 'client = echo value = 1' "$good" 'delays = 5 10 50'
refuses "delays without 0" 1 'curve\.plan:7: delays: 0 is missing: a curve is relative' "$nomora" sweep curve.plan -o curve.csv
refuses "also with --dry-run" 1 'delays: 0 is missing' "$nomora" sweep curve.plan --dry-run
refuses "two delays" 2 'delays: 2 delays: a curve needs at least 3; --any-delays' "$nomora" sweep curve.plan -o curve.csv --delays '0 10'
refuses "an output in a folder that is not there" 2 'nowhere/s.csv' "$nomora" sweep curve.plan --delays '0 10' --any-delays --dry-run -o nowhere/s.csv
run "$nomora" sweep curve.plan --delays '0 10' --any-delays --dry-run
[ "$code" -eq 0 ] && pass "--any-delays accepts them" || fail "--any-delays accepts them" "$err"
check "which leaves no file" sh -c '! ls curve.csv*'
printf '%s\n' 'client = true' "$good" 'lab = lab9' 'server-host = h1' >nohost.plan
refuses "a lab without a host for the client" 1 'nohost\.plan:3: client-host: .*client-host = h2' "$nomora" sweep nohost.plan --dry-run
curve_plan 'client = true' 'metric = q'$'\351'' s lower elapsed'
refuses "a metric's name that is not UTF-8" 1 'curve\.plan:6: metric: name and unit: expected UTF-8' "$nomora" sweep curve.plan --dry-run
curve_plan 'client = echo value = \' '  1; echo two \' '  lines' "$good" 'delays = 0 5 10' 'repetitions = 1' 'bad'
refuses "a line is continued by a backslash, and lines are counted as in the file" 1 "curve\.plan:11: expected 'name = value', found 'bad'" "$nomora" sweep curve.plan --dry-run
sed -i '$d' curve.plan
run "$nomora" sweep curve.plan -o continued.csv --keep-output --setup 'echo 1' --before-run 'echo 2' --warm-up 'echo 3' \
	--after-run 'echo 4' --teardown 'echo 5'
[ "$code" -eq 0 ] && [ "$(cat 'continued.csv.out/5us-run0-attempt1-client.txt')" = "value = 1
two lines" ] && pass "the command is the whole of them, and --keep-output keeps its output" ||
	fail "the command is the whole of them, and --keep-output keeps its output" "exit $code" "$err" "$(ls continued.csv.out)"
check "and that of the others" test "$(cd continued.csv.out && cat setup.txt 5us-run0-attempt1-{before-run,warm-up,after-run}.txt teardown.txt | xargs)" = '1 2 3 4 5'
run "$nomora" sweep --template
printf '%s\n' "$out" >template.plan
run "$nomora" sweep template.plan --dry-run
[ "$code" -eq 0 ] && grep -q '^# ' template.plan && says "$out" '^36 runs' && pass "--template prints a plan that is accepted" ||
	fail "--template prints a plan that is accepted" "exit $code" "$err"
refuses "no plan at all" 2 'missing operand PLAN' "$nomora" sweep
# Other users may run sweeps too: folders that existed before are not ours, and those created since must be removed.
tries() { find /tmp -maxdepth 1 -name 'nomora-try-*' | sort; }
all_gone() { local folder; for folder; do [ ! -e "$folder" ] || return 1; done; }
tries >tries-before
run "$nomora" sweep curve.plan --try
mapfile -t new_tries < <(tries | comm -13 tries-before -)
[ "$code" -eq 0 ] && [ "$out" = "value                    1 1 (higher is better)" ] && pass "--try prints the value of each metric" ||
	fail "--try prints the value of each metric" "exit $code" "$out$err"
check "and leaves no folder" wait_for 30 all_gone "${new_tries[@]}"
run "$nomora" sweep curve.plan --try --keep-output
kept=$(printf '%s\n' "$err" | sed -n 's/.*the output of every command is in \(.*\)/\1/p')
[ "$code" -eq 0 ] && [ -n "$(ls "$kept")" ] && pass "--keep-output names the folder where the outputs stay" ||
	fail "--keep-output names the folder where the outputs stay" "exit $code" "$out$err"
case $kept in /tmp/nomora-try-*/sweep.csv.out/) rm -rf "${kept%/*/}" ;; esac
for document in README.md docs/tutorial.md; do
	awk -v name="${document##*/}" '/^(```|END)/ { plan = 0 } /^application = / { plan = name "." ++plans ".plan" } plan { print >plan }' \
		"$source_root/$document"
done
for plan in README.md.*.plan tutorial.md.*.plan; do
	run "$nomora" sweep "$plan" --dry-run
	[ "$code" -eq 0 ] && pass "the plan in $plan" || fail "the plan in $plan" "$err"
done
rm -f count
run "$nomora" sweep curve.plan -o notfound.csv --client 'echo x >>count; no-such-program --flag'
[ "$code" -eq 1 ] && [ "$(wc -l <count)" -eq 1 ] && says "$err" 'no-such-program: not found' &&
	pass "a program that is not there is not tried again" || fail "a program that is not there is not tried again" "exit $code" "$(wc -l <count)" "$err"
run "$nomora" sweep curve.plan -o loud.csv --attempts 2 --client 'seq -f "line %g" 30; echo "MySQL error: 1146"; echo "see the web page"; exit 4'
[ "$code" -eq 1 ] && says "$err" '  \| MySQL error: 1146' && says "$err" '  \| line 13$' &&
	! says "$err" '  \| line 12$' && [ "$(wc -l <loud.csv.out/0us-run0-attempt2-client.txt)" -eq 32 ] &&
	pass "a failure shows the last 20 lines of its output, and the file has all of it" ||
	fail "a failure shows the last 20 lines of its output, and the file has all of it" "exit $code" "$err" "$(ls loud.csv.out)"
run "$nomora" sweep curve.plan -o debug.csv --debug --client "echo it\\'s wrong; exit 4" --server 'exec sleep 986'
[ "$code" -eq 1 ] && says "$out" "^env NOMORA_SERVER= .*/bin/sh -c 'exec sleep 986'" && printf '%s\n' "$out" | tail -1 >by-hand &&
	[ "$(sh by-hand)" = "it's wrong" ] && [ "$(ls debug.csv.out | wc -l)" -eq 1 ] && pass "--debug stops at the first failure and prints the commands to repeat" ||
	fail "--debug stops at the first failure and prints the commands to repeat" "exit $code" "$out$err" "$(ls debug.csv.out)"

# --- a sweep ---
plan_with 'delays = 0 10 20' 'repetitions = 2' 'client = echo "value = $NOMORA_DELAY_US"; echo "{\"a\": {\"b\": [1, 7.5]}}"' \
	"$good" 'metric = second s lower json:a.b[1]' 'metric = code - lower exit' \
	'setup = echo setup >>'"$scratch"'/phases' 'teardown = echo teardown >>'"$scratch"'/phases' \
	'before-run = echo before >>'"$scratch"'/phases' 'after-run = echo after >>'"$scratch"'/phases' \
	'server = echo server >>'"$scratch"'/phases; exec sleep 100' >good.plan
run "$nomora" sweep good.plan --dry-run
[ "$code" -eq 0 ] && [ "$(printf '%s\n' "$out" | grep -c ' us ')" -eq 6 ] && ! [ -e sweep.csv ] &&
	pass "--dry-run prints six runs and starts nothing" || fail "--dry-run prints six runs and starts nothing" "$out$err"
run "$nomora" sweep good.plan --dry-run --injector '' --lab lab9 --client-host h2
[ "$code" -eq 0 ] && pass "an empty --injector makes it a plan for a lab" || fail "an empty --injector makes it a plan for a lab" "$out$err"
run "$nomora" sweep good.plan -o good.csv --json
[ "$code" -eq 0 ] && says "$out" '"made": 6' && pass "a sweep of 3 delays, 2 runs" || fail "a sweep of 3 delays, 2 runs" "$out$err"
check "one row for each delay, run and metric" test "$(wc -l <good.csv)" -eq 19
check "the delay reaches the client" test "$(grep -c '^20,both,[01],value,1,higher,20,' good.csv)" -eq 2
check "JSON metric and exit code" test "$(grep -cE ',second,s,lower,7.5,|,code,-,lower,0,' good.csv)" -eq 12
check "the phases come in their order" test "$(tr '\n' ' ' <phases)" = \
	"setup server $(printf 'before after %.0s' 1 2 3 4 5 6)teardown "
check "each attempt is in the log" test "$(grep -c '"event":"attempt"' good.csv.log)" -eq 6
check "the injector has its old delays again" sh -c "'$nomora' inject-ctl '$socket' stats | grep -cE '\"delay_(ab_us\": 3.0|ba_us\": 4.0)' | grep -q 2"
run "$nomora" sweep good.plan -o good.csv
[ "$code" -eq 0 ] && says "$out" '0 of 6 runs made.*6 runs already there' && pass "the same command makes nothing twice" ||
	fail "the same command makes nothing twice" "$out$err"
printf '{"event":"att' >>good.csv.log # as a killed writer leaves it
run "$nomora" sweep good.plan -o good.csv --repetitions 3
check "a line that was cut off spoils no other" sh -c "grep -c '^{\"event\":\"\(att\|plan\)' good.csv.log | grep -qx 13"
[ "$code" -eq 0 ] && [ "$(wc -l <good.csv)" -eq 28 ] && pass "more repetitions are added" || fail "more repetitions are added" "$out$err"
head -n -2 good.csv >torn.csv # its last run has one of three metrics
cp good.csv.log torn.csv.log
run "$nomora" sweep good.plan -o torn.csv --repetitions 3
[ "$code" -eq 0 ] && says "$out" '1 of 9 runs made.*8 runs already there' && grep -q 'torn.csv: its last run has 1 of 3 metrics' err &&
	pass "a last run that was written in part is made again" || fail "a last run that was written in part is made again" "$out$err"
check "and has each metric once" sh -c "cut -d, -f1-4 good.csv | sort >whole; cut -d, -f1-4 torn.csv | sort | cmp - whole"
sed -i 4d torn.csv # the third metric of the first run
run "$nomora" sweep good.plan -o torn.csv --repetitions 3
[ "$code" -eq 0 ] && says "$out" '9 runs already there' && pass "one that was edited by hand is left as it is" ||
	fail "one that was edited by hand is left as it is" "$out$err"
refuses "another plan's file, and says what differs; not a long value" 1 'made by a plan with another setup( \("echo setup.*, here ""\))?, client: give' \
	"$nomora" sweep good.plan -o good.csv --client 'echo value = 1' --setup ''
refuses "the file of another priority, and says which" 1 'made by a plan with another nice \("0", here "5"\): give another --output, or --force' \
	"$nomora" sweep good.plan -o good.csv --nice 5
refuses "the file of other metrics" 1 'made by a plan with another metric: give' "$nomora" sweep good.plan -o good.csv --metric 'more s lower elapsed'
cp good.csv older.csv
sed 's/,"plan":{.*}}$/}/' good.csv.log >older.csv.log
check "older logs have the fingerprint alone" sh -c '! cmp -s good.csv.log older.csv.log && grep -q fingerprint older.csv.log'
refuses "the file of another plan, of which an older log does not tell more" 1 'made by a plan with other commands, hosts, metrics or conditions: give' \
	"$nomora" sweep good.plan -o older.csv --nice 5
run "$nomora" sweep good.plan -o older.csv --repetitions 3
[ "$code" -eq 0 ] && says "$out" '9 runs already there' && pass "its own plan goes on" || fail "its own plan goes on" "$out$err"
rows=$(wc -l <torn.csv)
sed -i '/fingerprint/d' torn.csv.log
refuses "rows whose log names no plan" 1 'torn.csv has rows, but torn.csv.log does not say which plan made them: .*--force' "$nomora" sweep good.plan -o torn.csv --repetitions 4
rm torn.csv.log
refuses "rows whose log is gone" 1 'torn.csv has rows, but torn.csv.log does not say which plan made them: .*--force' "$nomora" sweep good.plan -o torn.csv --repetitions 4
[ "$(wc -l <torn.csv)" -eq "$rows" ] && ! [ -e torn.csv.log ] && pass "which changes nothing" || fail "which changes nothing" "$(ls torn.csv*)"
run "$nomora" sweep good.plan -o torn.csv --repetitions 4 --force
[ "$code" -eq 0 ] && [ "$(wc -l <torn.csv)" -eq $((rows + 9)) ] && pass "--force appends to them" || fail "--force appends to them" "$out$err"

plan_with 'delays = 0' 'repetitions = 1' 'client = env >seen; echo value = 1' "$good" >environment.plan
run "$nomora" sweep environment.plan -o environment.csv
"$nomora" sweep --help >help
check "--help and the man page name each variable that the commands see" sh -c "
	sed -n 's/^\(NOMORA_[A-Z_]*\)=.*/\1/p' seen | grep -vxF \"\$(env | cut -d= -f1)\" >names && grep -q NETNS names &&
	while read -r name; do grep -qw \$name help && grep -qw \$name '$source_root/docs/man/nomora-sweep.1' || { echo \$name; exit 1; }; done <names"

plan_with 'delays = 0' 'repetitions = 1' 'client = case $PATH in '"$bin:$PATH"':/*/last/of/them) echo value = 1 ;; *) echo $PATH ;; esac' "$good" >path.plan
run env PATH="$PATH:$(printf '/no/such/folder%.0s' {1..400}):/last/of/them" "$nomora" sweep path.plan -o path.csv
[ "$code" -eq 0 ] && pass "the commands see all of a long PATH" || fail "the commands see all of a long PATH" "$err"

# --- references ---
plan_with 'delays = 0 5 10 20' 'repetitions = 1' 'reference-every = 1' 'order = ascending' 'client = echo "value = $NOMORA_RUN"' "$good" >reference.plan
run "$nomora" sweep reference.plan --dry-run
check "--dry-run shows the references" test "$(printf '%s\n' "$out" | grep -oE '[0-9]+ us  (run|reference)' | tr -d '\n')" = \
	"0 us  run5 us  run0 us  reference10 us  run0 us  reference20 us  run0 us  reference"
run "$nomora" sweep reference.plan -o reference.csv
check "they are made and have numbers of their own" sh -c "test \$(wc -l <reference.csv) -eq 8 && test \$(grep -cE '^0,both,100000[234],value,1,higher,100000' reference.csv) -eq 3"
run "$nomora" sweep reference.plan -o reference.csv --repetitions 2
[ "$code" -eq 0 ] && says "$out" '7 of 14 runs made.*7 runs already there' && pass "a second repetition goes on from them" ||
	fail "a second repetition goes on from them" "$out$err"

# --- how far the runs agree ---
plan_with 'delays = 0 10' 'repetitions = 3' 'precision-percent = 5' \
	'client = echo "value = $((100 + (NOMORA_DELAY_US * (NOMORA_RUN % 2) * 5)))"' "$good" >wavers.plan
run "$nomora" sweep wavers.plan -o wavers.csv --json
[ "$code" -eq 0 ] && printf '%s' "$out" | tr -d ' \n' | grep -q '"made":9,.*"extra":3,"unrepeatable":1,' && [ "$(grep -c '^0,' wavers.csv)" -eq 3 ] &&
	[ "$(grep -c '^10,both,[0-5],' wavers.csv)" -eq 6 ] && pass "a delay that is not precise gets as many runs again, and no more" ||
	fail "a delay that is not precise gets as many runs again, and no more" "$out$err" "$(cat wavers.csv)"
check "and is told not to be repeatable" grep -q 'nomora: 10 us is not repeatable: value 125, standard deviation 27, ' err
check "each delay's mean and deviation are in the log" sh -c "grep -c '\"event\":\"level\",\"delay_us\":0.0,\"direction\":\"both\",\"metric\":\"value\",\"runs\":3,\"mean\":100.0,\"deviation\":0.0,\"repeatable\":true' wavers.csv.log &&
	grep '\"delay_us\":10.0.*\"runs\":6,\"mean\":125.0,\"deviation\":27.38.*\"repeatable\":false' wavers.csv.log"
run "$nomora" sweep wavers.plan -o wavers.csv
[ "$code" -eq 0 ] && says "$out" '0 of 6 runs made.*1 delay not repeatable' && pass "the same command says so again and makes none" ||
	fail "the same command says so again and makes none" "$out$err"

run "$nomora" sweep wavers.plan -o referenced.csv --reference-every 1
[ "$code" -eq 0 ] && [ "$(grep -c '^10,both,[0-5],' referenced.csv)" -eq 6 ] && [ "$(grep -cE '^0,both,100000000[0-9],' referenced.csv)" -eq 6 ] &&
	[ "$(cut -d, -f1,3 referenced.csv | sort | uniq -d | wc -l)" -eq 0 ] && pass "runs for precision have references, each with a number of its own" ||
	fail "runs for precision have references, each with a number of its own" "$out$err" "$(cat referenced.csv)"

# --- failures ---
plan_with 'delays = 0..80/10' 'order = ascending' 'repetitions = 1' 'attempts = 1' \
	'client = test "$NOMORA_DELAY_US" != 60 || test -e '"$scratch"'/mended || { echo out of luck; exit 7; }; echo value = 1' "$good" >dies.plan
refuses "an application that dies at the 7th delay" 1 'at 60 us, run 0: client: failed with exit code 7: out of luck|same command' \
	"$nomora" sweep dies.plan -o dies.csv
check "the runs before it are kept" test "$(wc -l <dies.csv)" -eq 7
touch mended
run "$nomora" sweep dies.plan -o dies.csv
[ "$code" -eq 0 ] && [ "$(wc -l <dies.csv)" -eq 10 ] && [ "$(grep -c '^60,' dies.csv)" -eq 1 ] &&
	pass "the same command goes on from there" || fail "the same command goes on from there" "$out$err"
rm mended
run "$nomora" sweep dies.plan -o skips.csv --on-failure skip
[ "$code" -eq 3 ] && [ "$(wc -l <skips.csv)" -eq 9 ] && says "$out" '8 of 9 runs made.*1 run left out' &&
	says "$err" '1 run was left out of skips.csv because the benchmark failed in every attempt' && pass "on-failure skip leaves that run out: exit 3" ||
	fail "on-failure skip leaves that run out: exit 3" "exit $code" "$out$err"
touch mended
run "$nomora" sweep dies.plan -o skips.csv --on-failure skip
[ "$code" -eq 0 ] && [ "$(wc -l <skips.csv)" -eq 10 ] && pass "the same command tries it again" || fail "the same command tries it again" "exit $code" "$out$err"
run "$nomora" sweep dies.plan -o none.csv --on-failure skip --client false --nice 1
[ "$code" -eq 3 ] && [ "$(wc -l <none.csv)" -eq 1 ] && pass "no run at all is no success" || fail "no run at all is no success" "exit $code" "$out$err"

plan_with 'delays = 0' 'repetitions = 1' 'attempts = 1' 'timeout-s = 0.3' \
	'client = sleep 987 & echo $! >'"$scratch"'/child; wait' "$good" >hangs.plan
refuses "an application that hangs" 1 'client: timed out after 0.3 s' "$nomora" sweep hangs.plan -o hangs.csv
check "it is stopped with its children" gone "$(cat child)"
sed 's/^client = .*/client = test -e hung || { touch hung; sleep 987; }; echo value = 1/; s/^attempts.*/attempts = 2/' hangs.plan >hung.plan
run "$nomora" sweep hung.plan -o hung.csv
check "such an attempt has no figures of the injector, others say of how many threads" sh -c "
	grep '\"attempt\":1,' hung.csv.log | grep -v '\"injector\"' && grep '\"attempt\":2,.*\"injector\":.*\"lcores\":1.0' hung.csv.log"
check "and a report of the sweep comes about" "$nomora" report --sweep-log hung.csv.log -o hung.html
# The busy loop's share of a CPU depends on this machine's other load, so it is measured. Niced work is not counted, and
# these tests may run niced.
plan_with 'delays = 0' 'repetitions = 1' \
	"client = nice -n -$(nice) timeout 1 sh -c 'while :; do :; done'; times >times; echo value = 1" "$good" >burns.plan
run "$nomora" sweep burns.plan -o burns.csv
check "an application that burns a processor is seen to use one" python3 - burns.csv.log times <<'END'
import json, re, sys
attempt = next(e for e in map(json.loads, open(sys.argv[1])) if "processors_used" in e)
burnt_s = sum(60 * float(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", open(sys.argv[2]).read().splitlines()[1]))
used_s = attempt["processors_used"] * attempt["elapsed_s"]
print(f"burnt {burnt_s} s, seen {used_s} s of {attempt['elapsed_s']} s, {attempt['processors_used']} processors")
sys.exit(not (burnt_s > 0.1 and used_s >= 0.8 * burnt_s and attempt["processors_used"] <= attempt["processors"]))
END
# before-run and after-run come in pairs, however the run between them ends; no after-run follows a failed before-run.
hooks() {
	local name=$1 wanted=$2
	shift 2
	rm -f phases
	plan_with 'delays = 0' 'repetitions = 1' 'attempts = 2' 'setup = echo s >>phases' 'teardown = echo t >>phases' "$good" "$@" >hooks.plan
	grep -q '^before-run' hooks.plan || echo 'before-run = echo b >>phases' >>hooks.plan
	grep -q '^after-run' hooks.plan || echo 'after-run = echo a >>phases' >>hooks.plan
	run "$nomora" sweep hooks.plan -o hooks.csv --force
	if [ "$code" -eq 1 ] && [ "$(tr -d '\n' <phases)" = "$wanted" ]; then pass "$name"; else fail "$name" "exit $code" "$err" "$(cat phases)"; fi
}
hooks "after-run follows a client that fails" sbabat 'client = exit 7'
hooks "one that takes too long" sbabat 'client = sleep 987' 'timeout-s = 0.1'
hooks "one that prints no metric, which no other attempt would change" sbat 'client = true'
hooks "and a warm-up that fails" sbabat 'warm-up = false' 'client = echo value = 1'
hooks "but no before-run that fails" sbbt 'before-run = echo b >>phases; false' 'client = echo value = 1'
hooks "an after-run that fails is told beside the client's failure" sbabat 'client = exit 7' 'after-run = echo a >>phases; echo oh dear; exit 5'
check "and the client's is the run's" sh -c "grep -q 'after-run: failed with exit code 5: oh dear' err && grep -q 'at 0 us, run 0: client: failed with exit code 7' err"
# Both take longer than the sweep needs to notice that it is to stop.
rm -f phases
plan_with 'delays = 0' 'setup = echo s >>phases' 'before-run = echo b >>phases' 'after-run = sleep 0.3; echo a >>phases' \
	'teardown = sleep 0.3; echo t >>phases' 'client = touch begun; sleep 987' "$good" >stopped.plan
"$nomora" sweep stopped.plan -o stopped.csv 2>/dev/null &
sweep=$!
wait_for 10 test -e begun
kill -TERM "$sweep"
wait "$sweep"
check "told to stop, after-run and teardown still come" test "$(tr -d '\n' <phases)" = sbat
plan_with 'delays = 0' 'repetitions = 1' 'attempts = 2' 'client = echo nothing' "$good" >silent.plan
run "$nomora" sweep silent.plan -o silent.csv
[ "$code" -eq 1 ] && says "$err" "nothing in the output matches" && pass "a metric that is not printed" ||
	fail "a metric that is not printed" "exit $code" "$err"
plan_with 'delays = 0' 'client = echo value = 1' "$good" 'server = echo no such table; exit 3' 'server-ready = false' >noserver.plan
run "$nomora" sweep noserver.plan -o noserver.csv --ready-timeout-s 5
[ "$code" -eq 1 ] && says "$err" "server: failed with exit code 3: no such table" && pass "a server that ends at once" ||
	fail "a server that ends at once" "exit $code" "$err"
plan_with 'delays = 0' 'client = echo value = 1' "$good" 'server = exec sleep 986' 'server-ready = false' >late.plan
run "$nomora" sweep late.plan -o late.csv --ready-timeout-s 0.3
[ "$code" -eq 1 ] && says "$err" "not ready after 0.3 s" && pass "a server that is never ready" ||
	fail "a server that is never ready" "exit $code" "$err"

plan_with 'delays = 0' 'repetitions = 1' 'client = echo value = 1' "$good" 'server = exec sleep 986' >plain.plan
"$nomora" sweep plain.plan -o plain.csv --ready-timeout-s 1000 >/dev/null 2>&1 &
sweep=$!
at_exit kill "$sweep"
check "a server without server-ready is ready at once" wait_for 20 sh -c '[ "$(wc -l <plain.csv)" -eq 2 ]'
wait "$sweep"
rm -f phases
plan_with 'delays = 0' 'repetitions = 1' 'client = echo client >>phases; echo value = 1' "$good" 'teardown = echo teardown >>phases' \
	'server = trap "sleep 0.2; echo stopped >>phases; exit" TERM; echo server >>phases; while :; do sleep 0.02; done' \
	'server-ready = test -e phases' >ends.plan
run "$nomora" sweep ends.plan -o ends.csv
check "the server has ended before teardown begins" test "$(tr '\n' ' ' <phases)" = "server client stopped teardown "

# A gate that no run passes: the attempt with the least stall is kept, and the exit code is 3.
plan_with 'delays = 0' 'repetitions = 2' 'attempts = 2' 'client = echo value = 1' 'max-load = 0.000001' "$good" >disturbed.plan
run "$nomora" sweep disturbed.plan -o disturbed.csv
[ "$code" -eq 3 ] && [ "$(grep -c '^0,.*,1,$' disturbed.csv)" -eq 2 ] && says "$out" '2 runs disturbed' &&
	says "$err" '2 runs were kept although a gate refused every attempt' && pass "runs that stayed disturbed: exit 3, and the column says which" ||
	fail "runs that stayed disturbed: exit 3, and the column says which" "exit $code" "$out$err" "$(cat disturbed.csv)"
run "$nomora" report --sweep-log disturbed.csv.log -o disturbed.html
check "the report's verdict comes first" sh -c "tr -d '\n' <disturbed.html | grep -q '<main><p class=\"verdict fail\"><b>Do not publish this curve.</b> 2 of 2 runs disturbed.*<table>.*not checked: rtt-check is not set'"

# A page from which the sweep can be repeated: its rows give the same curve, its plan is the same plan.
mkdir plans page && echo 'echo value = $((1000000 / (2000 + ${NOMORA_DELAY_US%.*} * 5 + NOMORA_RUN)))' >plans/serve.sh
plan_with 'application = repeated' 'delays = 0 10 50 100 200' 'repetitions = 2' 'order = as-given' 'client = sh $NOMORA_PLAN_FOLDER/serve.sh' \
	"$good" 'max-disturbed-percent = 100' 'timeout-s = 7.5' >plans/repeated.plan
run "$nomora" sweep plans/repeated.plan -o repeated.csv
"$nomora" fit repeated.csv -o repeated.json >/dev/null
check "a page with its sweep" "$nomora" report --sweep repeated.csv --curve repeated.json --attach plans/serve.sh -o page/repeated.html
run "$nomora" report --sweep repeated.csv -o page/bare.html
check "one without the plan's script says so" grep -q 'the plan uses serve.sh of its folder: add --attach' "$scratch/err"
check "the page has kernel and injector's ports" sh -c "grep -qF \"\$(uname -r)\" page/repeated.html && grep -q 'net_ring0 (net_ring' page/repeated.html"
run "$nomora" report --extract page/repeated.html -o again
check "its files come out, and are listed" test "$(sort <<<"$out" | tr '\n' ' ')" = "again/repeated.csv again/repeated.csv.log again/repeated.json again/repeated.plan again/serve.sh "
check "byte for byte" sh -c 'cmp repeated.csv again/repeated.csv && cmp repeated.csv.log again/repeated.csv.log && cmp plans/serve.sh again/serve.sh'
check "the rows give the same curve" sh -c "cd again && '$nomora' fit repeated.csv -o new.json >/dev/null && cmp new.json ../repeated.json && cmp new.json repeated.json"
"$nomora" sweep plans/repeated.plan --dry-run --json >ours.json
check "the plan has the same schedule" sh -c "'$nomora' sweep again/repeated.plan --dry-run --json | cmp - ours.json"
run "$nomora" sweep again/repeated.plan -o repeated.csv
check "and is the plan of the rows: the sweep is complete" sh -c "[ $code -eq 0 ] && cmp repeated.csv again/repeated.csv"
run "$nomora" sweep again/repeated.plan -o new.csv
"$nomora" report --sweep new.csv --attach again/serve.sh -o page/new.html
run "$nomora" report --extract page/new.html -o new
check "repeated from the page, it has the same plan, byte for byte" cmp again/repeated.plan new/new.plan
check "and the same values" bash -c 'cut -d, -f1-7 new/new.csv | cmp - <(cut -d, -f1-7 repeated.csv)'

# An injector that shares its CPU with a busy loop: the gate refuses every attempt and names the other process.
if command -v taskset >/dev/null; then
	last=$(taskset -cp $$ | sed 's/.*[-, ]//')
	"$nomora" inject net_ring0 net_ring1 --cpus "$last" --nice 0 --control "$scratch/shared.sock" >shared.log 2>&1 &
	shared=$!
	at_exit kill "$shared"
	wait_for 20 "$nomora" inject-ctl "$scratch/shared.sock" stats
	taskset -c "$last" bash -c 'while :; do :; done' &
	busy=$!
	at_exit kill "$busy"
	plan_with 'delays = 0' 'repetitions = 1' 'attempts = 2' 'client = sleep 0.5; echo value = 1' "$good" >shared.plan
	run "$nomora" sweep shared.plan -o shared.csv --injector "$scratch/shared.sock" --max-stall-percent 2
	kill "$shared" "$busy"
	wait "$shared" "$busy" 2>/dev/null
	[ "$code" -eq 3 ] && says "$err" "the injector stalled for .* of the run \(limit 2 %\); .+ [0-9]+.* uses [0-9]+ % of CPU $last, which the injector polls on" &&
		pass "a busy loop on the injector's CPU: exit 3, and the message says who uses that CPU" ||
		fail "a busy loop on the injector's CPU: exit 3, and the message says who uses that CPU" "exit $code" "$err"
else
	skip "a busy loop on the injector's CPU" "taskset is not installed"
fi

# --- what commands leave running ---
cat >leaves-helpers <<'END'
case $1 in
before) sleep 985 >/dev/null 2>&1 & echo $! >helper ;;
after) kill -0 "$(cat helper)" ;;
client)
	for child in $(cat children 2>/dev/null; tail -n +2 sessions); do # the first one belongs to setup
		while grep -q '^State:[[:space:]]*[^XZ]' "/proc/$child/status" 2>/dev/null; do sleep 0.02; done
	done
	for i in 1 2; do sleep 985 >/dev/null 2>&1 & echo $! >>children; done
	setsid sleep 985 >/dev/null 2>&1 & echo $! >>sessions
	echo value = 1 ;;
warm)
	sleep 985 >/dev/null 2>&1 & echo $! >>children
	setsid sleep 985 >/dev/null 2>&1 & echo $! >>sessions ;;
esac
END
plan_with 'delays = 0' 'repetitions = 3' 'attempts = 1' 'timeout-s = 5' 'setup = sleep 985 >/dev/null 2>&1 & echo $! >sessions' 'before-run = sh leaves-helpers before' \
	'warm-up = sh leaves-helpers warm' 'client = sh leaves-helpers client' 'after-run = sh leaves-helpers after' 'teardown = kill -0 $(head -n 1 sessions)' "$good" >helpers.plan
run "$nomora" sweep helpers.plan -o helpers.csv
[ "$code" -eq 0 ] && [ "$(wc -l <children)" -eq 9 ] && pass "what a client or a warm-up leaves running, also in a session of its own, is gone before it is measured again" ||
	fail "what a client or a warm-up leaves running, also in a session of its own, is gone before it is measured again" "exit $code" "$err"
check "what setup and before-run leave runs until after-run and teardown" sh -c "! grep -q 'failed' err"
left=0
for child in $(cat children helper sessions); do gone "$child" || left=$((left + 1)); done
[ "$(wc -l <sessions)" -eq 7 ] && [ "$left" -eq 0 ] && pass "and nothing of it outlives the sweep" || fail "and nothing of it outlives the sweep" "$left left"

# --- an injector that others touch ---
plan_with 'delays = 5' 'repetitions = 1' 'client = test -e touched || { touch touched; nomora inject-ctl '"$socket"' set delay_ba_us=777; }; echo value = 1' \
	"$good" >touches.plan
run "$nomora" sweep touches.plan -o touches.csv
[ "$code" -eq 0 ] && [ "$(wc -l <touches.csv)" -eq 2 ] && grep -q '"attempt":1,"disturbed":true,"reasons":"somebody else .* 5 us from A to B and 777 back' touches.csv.log &&
	grep -q '"event":"accepted".*"attempt":2,"disturbed":false' touches.csv.log && pass "a run during which somebody set a delay is made again" ||
	fail "a run during which somebody set a delay is made again" "exit $code" "$out$err" "$(cat touches.csv.log)"
printf '%s\n' "nomora inject-ctl $socket set delay_us=9" "nomora inject-ctl $socket set delay_us=5" 'echo value = 1' >there-and-back
refuses "nor has one whose delay was changed and set back" 1 'at 5 us, run 0: somebody else set the injector.*and then back again' \
	"$nomora" sweep touches.plan -o back.csv --client "sh $scratch/there-and-back" --attempts 2
refuses "a run whose delay is never right has no row" 1 'at 5 us, run 0: somebody else set the injector' \
	"$nomora" sweep touches.plan -o never.csv --client "nomora inject-ctl $socket set delay_us=9; echo value = 1" --attempts 2
check "not even as a disturbed one" test "$(wc -l <never.csv)" -eq 1

start_second() {
	"$nomora" inject net_ring0 net_ring1 --delay-us "$1" --nice 19 --control "$scratch/second.sock" >second.log 2>&1 &
	second=$!
	at_exit kill "$second"
	wait_for 20 "$nomora" inject-ctl "$scratch/second.sock" stats
}
start_second 0
plan_with 'delays = 5' 'repetitions = 1' 'client = touch running; until test -e restarted; do sleep 0.02; done; echo value = 1' "$good" >restarts.plan
"$nomora" sweep restarts.plan -o restarts.csv --injector "$scratch/second.sock" >/dev/null 2>&1 &
sweep=$!
wait_for 10 test -e running
kill "$second"
wait "$second"
start_second 5 # the run's process group
touch restarted
code=0
wait "$sweep" || code=$?
[ "$code" -eq 0 ] && [ "$(wc -l <restarts.csv)" -eq 2 ] && grep -q '"attempt":1,"disturbed":true,"reasons":"the injector was restarted' restarts.csv.log &&
	grep -q '"event":"accepted".*"attempt":2,"disturbed":false' restarts.csv.log && pass "a run during which the injector was restarted is made again" ||
	fail "a run during which the injector was restarted is made again" "exit $code" "$(cat restarts.csv.log)"
kill "$second"
wait "$second"

# --- cut off ---
plan_with 'delays = 0..9/1' 'repetitions = 2' 'client = sleep 0.05; echo value = 1' 'server = echo $$ >'"$scratch"'/server; exec sleep 985' \
	'server-ready = test -e '"$scratch"'/server' "$good" >long.plan
"$nomora" sweep long.plan -o long.csv 2>/dev/null &
sweep=$!
wait_for 10 sh -c "test \"\$(wc -l <'$scratch/long.csv')\" -gt 4"
refuses "a second sweep of the same injector names the first" 1 "another sweep, process $sweep, uses the injector" \
	"$nomora" sweep good.plan -o second.csv
delays_are() { "$nomora" inject-ctl "$socket" stats | grep -cE "\"delay_(ab_us\": $1|ba_us\": $2)," | grep -q 2; }
kill -KILL "$sweep"
wait "$sweep" 2>/dev/null
check "SIGKILL leaves the lock's file, which keeps nobody out" test -e "$socket.sweep"
check "SIGKILL ends its server too" wait_for 5 gone "$(cat server)"
# A server's child that only its environment identifies, one identified by its output, one of another user, and a child
# of the client's. The server of a running sweep is none of them.
as_nobody='sleep'
[ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && as_nobody='setpriv --reuid 65534 --clear-groups sleep'
plan_with 'delays = 0..9/1' "client = test -e clients || { env -u NOMORA_SWEEP_CLIENT setsid sleep 985 >/dev/null 2>&1 & echo \$! >>$scratch/clients; }; sleep 0.05; echo value = 1" "$good" \
	"server = sleep 985 >/dev/null 2>&1 & echo \$! >>$scratch/left; env -i sleep 985 & echo \$! >>$scratch/left; echo \$\$ >>$scratch/left; exec $as_nobody 985" >leaves.plan
"$nomora" sweep leaves.plan -o leaves.csv 2>/dev/null &
sweep=$!
wait_for 10 sh -c "test \"\$(wc -l <'$scratch/leaves.csv')\" -gt 2"
kill -KILL "$sweep"
wait "$sweep" 2>/dev/null
children="$(head -n 2 left) $(cat clients)"
living=$(mktemp -d "/tmp/nomora-sweep.$$.XXXXXX")
at_exit rm -rf "$living"
NOMORA_SCRATCH=$living sleep 985 >"$living/server.log" &
other=$!
at_exit kill "$other"
delays_are 3.0 4.0 && fail "a sweep that was killed leaves a delay of its own" || pass "a sweep that was killed leaves a delay of its own"
for child in $children; do gone "$child" && fail "the children outlive SIGKILL"; done
run "$nomora" sweep leaves.plan -o leaves.csv --delays 0
[ "$code" -eq 0 ] || fail "the next sweep runs" "$err"
check "two sweeps were killed, the third puts the delays back that the first found" delays_are 3.0 4.0
check "and says so" grep -q 'a killed sweep left delays of .* restored 3 and 4' err
left=0
for child in $(head -n 3 left) $(cat clients); do gone "$child" || left=$((left + 1)); done
check "the next sweep ends what is left of a killed one's server and client" test "$left" -eq 0
check "and nothing of a sweep that lives" kill -0 "$other"

"$nomora" sweep long.plan -o killed.csv 2>/dev/null &
sweep=$!
wait_for 10 sh -c "test \"\$(wc -l <'$scratch/killed.csv')\" -gt 4"
kill -KILL "$sweep"
wait "$sweep" 2>/dev/null
"$nomora" inject-ctl "$socket" set delay_ab_us=77 delay_ba_us=66 >/dev/null
run "$nomora" sweep long.plan -o killed.csv --delays 0
[ "$code" -eq 0 ] && delays_are 77.0 66.0 && pass "what somebody has set since is theirs" || fail "what somebody has set since is theirs" "$err"

"$nomora" sweep long.plan -o long.csv 2>/dev/null &
sweep=$!
wait_for 10 sh -c "test \"\$(wc -l <'$scratch/long.csv')\" -gt 10"
kill -TERM "$sweep"
code=0
wait "$sweep" || code=$?
[ "$code" -eq 1 ] && gone "$(cat server)" && pass "SIGTERM: exit 1, its server ended" || fail "SIGTERM: exit 1, its server ended" "exit $code"
run "$nomora" sweep long.plan -o long.csv
rows=$(tail -n +2 long.csv | cut -d, -f1,3 | sort -u | wc -l)
[ "$code" -eq 0 ] && [ "$rows" -eq 20 ] && [ "$(wc -l <long.csv)" -eq 21 ] && pass "the third try completes it: 20 runs, each once" ||
	fail "the third try completes it: 20 runs, each once" "$rows" "$out$err"
check "the lock's file goes with a sweep that ends by itself" test ! -e "$socket.sweep"
left=()
for folder in /tmp/nomora-sweep.*; do
	owner=${folder#/tmp/nomora-sweep.}
	case ${owner%.*} in *[!0-9]*) continue ;; esac
	# Only folders of this run: those of another user's killed sweep, or of an earlier one, are not ours.
	[ -O "$folder" ] && [ "$folder" -nt "$scratch/script-begun" ] && gone "${owner%.*}" && left+=("$folder")
done
check "no folder is left in /tmp, not even that of the killed one" test "${#left[@]}" -eq 0
plan

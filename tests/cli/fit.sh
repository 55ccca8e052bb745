#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora fit from the command line: a sweep to a curve, plots, comparison, JSON; every kind of bad file is refused with
# file, line and field, exit code 1 and no output.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
header=delay_us,direction,run,metric,unit,better,value

# Added round trips 0..500 us in 26 levels, 4 runs: 1 up to 45 us, then a parabola; deterministic "noise" of 0.4 %.
awk -v header="$header" 'BEGIN {
	print header
	for (level = 0; level <= 25; level++)
		for (run = 0; run < 4; run++) {
			x = 20 * level
			p = x < 45 ? 1 : 0.98 - 0.0013 * x + 5e-7 * x * x
			wobble = (level * 7 + run * 13) % 11 / 5 - 1
			printf "%d,both,%d,queries_per_second,1/s,higher,%.2f\n", x / 2, run, 50000 * (p + 0.004 * wobble)
		}
}' >sweep.csv

run "$nomora" fit sweep.csv -o curve.json --plot curve.svg --plot curve.png --baseline-rtt-us 31
if [ "$code" -eq 0 ] && [ -z "$err" ] && says "$out" 'threshold    5[0-9.]* us \(jump\)'; then
	pass "a sweep is fitted and its threshold found"
else
	fail "a sweep is fitted and its threshold found" "exit $code" "$out" "$err"
fi
check "curve.json names its schema" grep -q '"schema": "nomora.curve/1"' curve.json
check "curve.json keeps the testbed's round trip" grep -q '"baseline_rtt_us": 31' curve.json
check "the application is the file's name" grep -q '"application": "sweep"' curve.json
check "the SVG is one" grep -q '</svg>' curve.svg
check "the PNG is one" sh -c "head -c 8 curve.png | od -An -c | grep -q 'P   N   G'"

# Levels that deviate by up to 3 %, while the runs of a level agree to 0.4 %.
awk -F, -v OFS=, 'NR > 1 { $7 *= $1 % 20 ? 1.03 : 1 } { print }' sweep.csv >drift.csv
for sweep in sweep drift; do
	"$nomora" fit $sweep.csv >"$sweep.said" 2>&1
	"$nomora" fit $sweep.csv --json >"$sweep.json" 2>/dev/null
	dispersion=$(grep -o '"overdispersion": [0-9.]*' "$sweep.json" | head -n 1 | sed 's/.*: //')
	warned=$(grep -c 'Level means scatter' "$sweep.said")
	check "$sweep: a warning if levels scatter more than their runs, and only then" \
		awk -v d="$dispersion" -v warned="$warned" -v name=$sweep 'BEGIN { exit !(d != "" && warned == (d > 1) && (name == "sweep" || d > 1)) }'
done
run "$nomora" fit sweep.csv --json
[ "$code" -eq 0 ] && says "$out" '"schema": "nomora.fit/1"' && pass "--json" || fail "--json" "$out" "$err"
run "$nomora" fit sweep.csv -o -
[ "$code" -eq 0 ] && [ "$(printf '%s' "$out" | head -c 1)" = "{" ] && pass "-o - is the curve alone" ||
	fail "-o - is the curve alone" "$out" "$err"
"$nomora" fit - --application sweep --baseline-rtt-us 31 -q -o piped.json <sweep.csv
check "a sweep from stdin gives the same curve" cmp curve.json piped.json
gzip -c sweep.csv >sweep.csv.gz
check "a gzipped sweep gives the same curve" sh -c "
	'$nomora' fit sweep.csv.gz --baseline-rtt-us 31 -q -o zipped.json && cmp curve.json zipped.json"
tr -d '\r' <sweep.csv | sed 's/$/\r/' >crlf.csv
check "so do lines that end in CRLF" sh -c "
	'$nomora' fit crlf.csv -a sweep --baseline-rtt-us 31 -q -o crlf.json && cmp curve.json crlf.json"

awk -F, -v OFS=, 'NR == 55 { $7 *= 0.01 } { print }' sweep.csv >wild.csv
run "$nomora" fit wild.csv
says "$out" '^warning: 1 outlier .*, kept; the worst: line 55, x [0-9.]* us, -[0-9.]* deviations.*--without-outliers' &&
	pass "a wild run is named, and how to exclude it" || fail "a wild run is named, and how to exclude it" "$out" "$err"

run "$nomora" fit sweep.csv --degree 2 --threshold 45
says "$out" 'p\(x\) = 1 for x < 45 us; 0.9[78]' && pass "threshold and degree forced" ||
	fail "threshold and degree forced" "$out" "$err"
run "$nomora" fit sweep.csv --model polynomial --continuous
says "$out" '\(hinge\)' && pass "--continuous" || fail "--continuous" "$out" "$err"
run "$nomora" fit sweep.csv --threshold 0 --model exponential
says "$out" 'threshold    none' && pass "--threshold 0" || fail "--threshold 0" "$out" "$err"
for model in polynomial-1 polynomial-5 log exponential rational hill spline monotone; do
	check "--model $model" sh -c "'$nomora' fit sweep.csv -q --model $model -o m.json && grep -q 'name\": \"$model' m.json"
	case $model in
	spline) check "its equation" grep -q 'equation": .*monotone cubic spline, knots at [0-9]' m.json ;;
	monotone) check "its equation" grep -q 'equation": .*monotone interpolant of pooled levels' m.json ;;
	esac
done

# A time is converted to baseline/time: the inverse sweep gives the same curve.
awk -F, -v OFS=, 'NR > 1 { $4 = "time"; $5 = "s"; $6 = "lower"; $7 = 1e6 / $7 } { print }' sweep.csv >time.csv
"$nomora" fit time.csv -q -o time.json
run "$nomora" fit sweep.csv --expr 'a*exp(-x/b)' --start a=1,b=500 -q -o formula.json
for case in "curve sweep" "time time" "formula sweep"; do
	check "$case: measured = value / baseline, with the one baseline of the file" python3 -c '
import csv, json, sys
curve = json.load(open(sys.argv[1] + ".json"))
runs = {}
for row in csv.DictReader(open(sys.argv[2] + ".csv")):
    value = float(row["value"]) / curve["baseline"]["value"]
    runs.setdefault(2 * float(row["delay_us"]), []).append(value if row["better"] == "higher" else 1 / value)
assert len(curve["levels"]) == len(runs)
for level in curve["levels"]:
    mean = sum(runs[level["x_us"]]) / len(runs[level["x_us"]])
    assert abs(level["measured"] - mean) < 1e-6, (level, mean)' $case
done
run "$nomora" fit --compare curve.json time.json
says "$out" 'largest difference  0\.000|largest difference  [0-9.]+e-0' &&
	pass "times are normalised to baseline/time" || fail "times are normalised to baseline/time" "$out" "$err"
run "$nomora" fit --compare curve.json time.json --json --plot both.svg --plot both.png
[ "$code" -eq 0 ] && [ -s both.svg ] && [ -s both.png ] && says "$out" 'nomora.curve_comparison/1' &&
	pass "--compare --json --plot" || fail "--compare --json --plot" "$out" "$err"
awk -F, -v OFS=, 'NR > 1 { $7 *= 1 - $1 / 2500 } { print }' sweep.csv >worse.csv
"$nomora" fit worse.csv -q -o worse.json
run "$nomora" fit --compare curve.json worse.json --json
[ "$code" -eq 3 ] && says "$out" '"verdict": "differ"' && pass "--compare: curves that differ, exit 3" ||
	fail "--compare: curves that differ, exit 3" "exit $code" "$out" "$err"
# The same performance on a machine that is always slower gives the same curve.
awk -F, -v OFS=, 'NR > 1 { $7 *= 0.7 } { print }' sweep.csv >slower.csv
"$nomora" fit slower.csv -q -o slower.json
run "$nomora" fit --compare curve.json slower.json
[ "$code" -eq 0 ] && says "$out" 'the curves agree' && says "$out" '^baselines .*-30.0 %' &&
	pass "--compare: another baseline is reported and is no difference" ||
	fail "--compare: another baseline is reported and is no difference" "exit $code" "$out" "$err"
mkdir several
check "several sweeps go to a folder, onto one plot" sh -c "
	'$nomora' fit sweep.csv time.csv -q -o several --plot several.png &&
	cmp -s several/time.json time.json && [ -s several/sweep.json ] && [ -s several.png ]"

# The paper's curves that are shipped can be read, and a curve equals itself.
for name in memcached strads spark tensorflow; do
	run "$nomora" fit --compare "$source_root/curves/$name.json" "$source_root/curves/$name.json"
	says "$out" '^largest difference  0 ' && pass "curves/$name.json" ||
		fail "curves/$name.json" "$out" "$err"
done

# Data that are not performance relative to the baseline are refused, even if some curve fits them.
printf '0 100\n10 95\n20 90\n50 70\n100 50\n200 30\n' >percent.csv
refuses "percent" 1 'percent.csv:1: performance: .*about 1 at the smallest x \(0 us\), found 100: percent\?' \
	"$nomora" fit percent.csv -o bad.json
printf '1 0\n0.95 10\n0.9 20\n0.7 50\n0.5 100\n0.3 200\n' >swapped.csv
refuses "swapped columns" 1 'swapped.csv:6: performance: expected performance relative to the baseline' \
	"$nomora" fit swapped.csv -o bad.json
printf '0 1\n10 1.2\n20 2\n50 5\n100 9\n' >swapped.csv
refuses "a level of nine baselines" 1 'swapped.csv:4: performance: 5 times the baseline at 50 us: expected at most 3' \
	"$nomora" fit swapped.csv -o bad.json
awk -v header="$header" 'BEGIN { print header
	for (x = 0; x <= 40; x += 4) for (run = 0; run < 3; run++)
		printf "%d,both,%d,latency,us,higher,%g\n", x, run, 100 + 3 * x + run % 2 }' >rising.csv
refuses "a metric whose better is wrong" 1 "rising.csv: performance rises with latency, by .*'better' wrong" \
	"$nomora" fit rising.csv -o bad.json
sed 's/higher/lower/' rising.csv >falling.csv
check "and right" "$nomora" fit falling.csv -q
printf '0 1\n0.01 0.95\n0.02 0.9\n0.05 0.7\n0.1 0.5\n0.2 0.3\n' >ms.csv
run "$nomora" fit ms.csv
says "$out" 'warning: The largest x is 0.2 us, less than a step of the table \(10 us\): is x in us\?' &&
	pass "milliseconds are warned about" || fail "milliseconds are warned about" "$out" "$err"
printf '10 1\n20 0.95\n50 0.9\n200 0.7\n1000 0.5\n' >late.csv
run "$nomora" fit late.csv
says "$out" 'warning: The smallest x is 10 us: the curve below it is extrapolated' &&
	pass "no level at 0 is warned about" || fail "no level at 0 is warned about" "$out" "$err"
[ -e bad.json ] && fail "no curve of nonsense is left" || pass "no curve of nonsense is left"

# An application that latency does not slow down gets no threshold, but an upper bound on a hidden effect.
awk -v header="$header" 'BEGIN { print header
	for (level = 0; level < 6; level++) for (run = 0; run < 4; run++)
		printf "%d,both,%d,gbit,Gbit/s,higher,%.4f\n", level * 400, run, 9.4 + 0.1 * ((level * 7 + run * 5) % 9 / 4 - 1) }' >flat.csv
run "$nomora" fit flat.csv -o flat.json
if [ "$code" -eq 0 ] && says "$out" 'threshold    none$' &&
	says "$out" 'no effect of latency found up to 4000 us \(at most -[0-9.]+ %, with 95 % confidence\)'; then
	pass "a flat application has no threshold"
else
	fail "a flat application has no threshold" "exit $code" "$out" "$err"
fi
check "its curve is 1" python3 -c '
import json
curve = json.load(open("flat.json"))
assert curve["threshold"] is None and curve["model"]["name"] == "flat" and set(curve["table"]["p"]) == {1.0}
assert max(curve["band"]["high"]) == 1 and 0.9 < min(curve["band"]["low"]) < 1'
check "and is read again" "$nomora" fit --compare flat.json flat.json
# Twelve runs at 1 and twelve at 0.2: if a curve without a threshold is the best, the report says where it has fallen.
printf '%s\n' 0,{1.0028,0.9802,0.9932} 10,{1.0073,1.0063,1.0064} 20,{1.0158,0.9922,1.0056} 40,{0.9806,0.9915,0.9930} \
	100,{0.1989,0.1982,0.2041} 200,{0.2038,0.2044,0.1943} 400,{0.2010,0.2048,0.1976} 1000,{0.2053,0.2003,0.2002} >cliff.csv
run "$nomora" fit cliff.csv -o cliff.json
says "$out" 'threshold    none: performance is at most 0.99 from 40 us on$' &&
	pass "a curve without a threshold says from where on it is lower" ||
	fail "a curve without a threshold says from where on it is lower" "$out"
check "as its table has it" python3 -c '
import json
p = json.load(open("cliff.json"))["table"]["p"]
assert p[4] <= 0.99 < p[3], p[:6]'
printf 'x,p\n0,1\n2,0.9\n4,0.8\n6,0.7\n' >short.csv
printf 'x,p\n0,0.93\n10,0.9\n20,0.87\n50,0.8\n100,0.7\n200,0.56\n400,0.4\n' >low.csv
for case in short:6:"levels up to 6 us" low:0:"a curve that starts below 0.99"; do
	IFS=: read -r file from_us name <<<"$case"
	run "$nomora" fit "$file.csv"
	says "$out" "performance is at most 0.99 from $from_us us on\$" && pass "$name" || fail "$name" "$out" "$err"
done
awk -F, -v OFS=, 'NR > 1 { $7 = 9.4 + 40 * ($7 - 9.4) } { print }' flat.csv >noise.csv
run "$nomora" fit noise.csv -o noise.json
says "$out" 'warning: The runs scatter too much to show an effect below [0-9]* %' &&
	pass "noise is not taken for insensitivity" || fail "noise is not taken for insensitivity" "$out" "$err"

# Candidates in one table, and more than two curves.
run "$nomora" fit sweep.csv --model hill,exponential --plot forms.svg --log-x
[ "$code" -eq 0 ] && [ -s forms.svg ] && [ "$(printf '%s\n' "$out" | grep -c '^  curve  ')" -eq 2 ] &&
	pass "two models side by side" || fail "two models side by side" "exit $code" "$out" "$err"
refuses "two models into one file" 2 '-o takes one model' "$nomora" fit sweep.csv --model hill,log -o bad.json
refuses "a model of several that is none" 2 'expected auto, polynomial' "$nomora" fit sweep.csv --model hill,cubic
run "$nomora" fit --compare curve.json time.json worse.json --plot three.svg --zoom-y
[ "$code" -eq 3 ] && [ -s three.svg ] && [ "$(printf '%s\n' "$out" | grep -c '^verdict')" -eq 2 ] &&
	says "$out" '^second  .*worse.json \(worse\)' && pass "--compare names three files" ||
	fail "--compare names three files" "exit $code" "$out" "$err"
run "$nomora" fit --compare curve.json time.json worse.json --json
check "--compare of three is one JSON object" python3 -c '
import json, sys
root = json.loads(sys.argv[1])
assert root["schema"] == "nomora.curve_comparisons/1"
assert [c["verdict"] for c in root["comparisons"]] == ["agree", "differ"]' "$out"
refuses "--compare of one" 2 'at least two' "$nomora" fit --compare curve.json
awk -F, -v OFS=, '{ print } NR > 1 { $4 = "p99"; print }' sweep.csv >two.csv
refuses "an unknown metric lists the known ones" 1 "unknown metric 'p98'; known: queries_per_second, p99" \
	"$nomora" fit two.csv -m p98
run "$nomora" fit two.csv -q
[ "$code" -eq 0 ] && [ -z "$err" ] && pass "-q says nothing of other metrics" || fail "-q says nothing of other metrics" "$err"

# Information from the sweep is kept: the plan's name, the testbed's round trip, the disturbed runs.
awk -F, -v OFS=, 'NR == 1 { print $0, "started_at", "disturbed", "baseline_rtt_us"; next }
	{ print $0, "", NR % 13 == 0 ? 1 : 0, NR % 2 ? 39.5 : "" }' sweep.csv >marked.csv
echo '{"event": "plan", "fingerprint": "x", "application": "mariadb", "client": "", "server": "", "seed": 1}' >marked.csv.log
run "$nomora" fit marked.csv -o marked.json
disturbed=$(awk -F, '$9 == 1' marked.csv | wc -l)
[ "$code" -eq 0 ] && says "$out" "warning: $disturbed of 104 runs were disturbed" &&
	pass "disturbed runs are warned about" || fail "disturbed runs are warned about" "$out" "$err"
check "and counted in curve.json, beside the plan's name and the testbed's round trip" python3 -c '
import json, sys
curve = json.load(open("marked.json"))
assert curve["disturbed_runs"] == int(sys.argv[1]) and curve["application"] == "mariadb"
assert curve["baseline_rtt_us"] == 39.5' "$disturbed"
run "$nomora" fit marked.csv --without-disturbed --baseline-rtt-us 7 -a other -o marked.json
[ "$code" -eq 0 ] && ! says "$out" 'were disturbed' &&
	printf '%s\n' "$out" | grep -q "measured     $((104 - disturbed)) runs" && pass "--without-disturbed" ||
	fail "--without-disturbed" "$out" "$err"
check "options win over the sweep" python3 -c '
import json
curve = json.load(open("marked.json"))
assert curve["disturbed_runs"] == 0 and curve["application"] == "other" and curve["baseline_rtt_us"] == 7'
awk -F, -v OFS=, 'NR == 5 { $3 += 1000000; $9 = 1 } { print }' marked.csv >reference.csv
run "$nomora" fit reference.csv -o marked.json
printf '%s\n' "$out" | grep -q "warning: $((disturbed + 1)) of 104 runs were disturbed" &&
	pass "disturbed reference runs count" || fail "disturbed reference runs count" "$out" "$err"
awk -F, -v OFS=, 'NR > 1 { $9 = 1 } { print }' marked.csv >ruined.csv
refuses "nothing but disturbed runs" 1 'ruined.csv: disturbed: every run is disturbed' \
	"$nomora" fit ruined.csv --without-disturbed -o ruined.json

# An outlier is reported with its line and kept, unless the user asks otherwise.
awk -F, -v OFS=, 'NR == 30 { $7 = 20000 } { print }' sweep.csv >outlier.csv
run "$nomora" fit outlier.csv
says "$out" 'line 30 ' && says "$out" '1 outlier .*, kept' &&
	pass "an outlier is flagged and kept" || fail "an outlier is flagged and kept" "$out"
run "$nomora" fit outlier.csv --without-outliers
says "$out" 'excluded' && pass "--without-outliers" || fail "--without-outliers" "$out"

# Plain columns with any header.
printf 'RTT;perf;sd;n\n0;1;0.01;5\n20;1.0;0.01;5\n50;0.93;0.01;5\n100;0.81;0.02;5\n200;0.62;0.01;5\n500;0.31;0.01;5\n' >plain.csv
run "$nomora" fit plain.csv
[ "$code" -eq 0 ] && says "$out" 'is normalised' && pass "plain columns" ||
	fail "plain columns" "$out" "$err"

# bad NAME CODE PATTERN: the file bad.csv is refused and no output is left.
bad() {
	refuses "$1" 1 "$2" "$nomora" fit bad.csv -o bad.json --plot bad.svg
	[ -e bad.json ] || [ -e bad.svg ] && fail "$1: nothing is left behind" "$(ls)" || pass "$1: nothing is left behind"
}
rows() { printf '%s\n' "$header" "$@" >bad.csv; }
row() { printf '%s,both,%s,%s,1/s,higher,%s' "$@"; }

: >bad.csv
bad "an empty file" 'bad.csv: there are no measurements'
printf '%s\n' "$header" >bad.csv
bad "a header alone" 'bad.csv.*there are no measurements'
rows "$(row 0 0 q 5)" "$(row 0 1 q 6)" "$(row 0 2 q 7)"
bad "one level" 'bad.csv:4: delay_us: found 1 delay, expected'
rows "$(row 0 0 q 5)" "$(row 1 0 q 5)" "$(row 2 0 q 5)" "$(row 3 0 q 5)"
bad "all values equal" 'bad.csv:5: value: every value is 5'
rows "$(row 0 0 "$(printf 'q\033[31m')" 5)" "$(row 1 0 "$(printf 'q\033[31m')" 4)"
bad "a metric that would drive the terminal" "bad.csv:2: metric: expected text without control characters"
rows "$(row 0 0 q 5)" "$(row 1 0 q nan)" "$(row 2 0 q 4)"
bad "NaN" "bad.csv:3: value: 'nan' is not a finite number"
rows "$(row 0 0 q 5)" "$(row 1 0 q inf)" "$(row 2 0 q 4)"
bad "infinity" "bad.csv:3: value: 'inf' is not a finite number"
printf 'x,p,sd\n0,1,0.1\n10,0.9,-0.1\n20,0.8,0.1\n' >bad.csv
bad "a negative deviation" 'bad.csv:3: deviation: -0.1'
rows "$(row 0 0 q 5)" "$(row 0 0 t 1)" "$(row 5 0 q 4)" "$(row 5 0 t 2)" "$(row 9 0 t 3)" "$(row 12 0 q 3)"
bad "a metric missing at some delays" "bad.csv:6: metric: 'q' has no row at delay 9 us"
rows "$(row 5 0 q 5)" "$(row 10 0 q 4)" "$(row 20 0 q 3)"
bad "no baseline" 'bad.csv:2: delay_us: no row at delay 0'
rows "$(row 0 0 q 5)" "$(row 5 0 q -4)" "$(row 20 0 q 3)"
bad "a negative value" 'bad.csv:3: value: .*negative'
printf '%s\n' "$header" 0,both,0,t,us,lower,20 5,both,0,t,us,lower,0 20,both,0,t,us,lower,40 >bad.csv
bad "a time of 0" 'bad.csv:3: value: a time must be above 0'
printf '%s\n' "$header" 0,both,0,t,us,lower,20 5,both,0,t,us,lower,1e-160 20,both,0,t,us,lower,40 >bad.csv
bad "a time of nearly 0" 'bad.csv:3: value: 2e.161 times the baseline: expected at most 1e.06 times'
printf '0,1\n5,0.9\n10,0.8\n20,0.7\n50,1e300\n' >bad.csv
bad "a performance that cannot be" 'bad.csv:5: value: 1e.300 times the baseline'
printf '0,1,0.1\n5,0.9,1e-300\n10,0.8,0.1\n20,0.7,0.1\n' >bad.csv
bad "a deviation too small to be squared" 'bad.csv:2: deviation: found 1e-300, expected 0'
rows "$(row 0 0 q 5)" "$(row 0 0 q 5.1)" "$(row 20 0 q 3)"
bad "a run twice" 'bad.csv:3: run: run 0 of .q. at this delay was given on line 2'
rows "$(row 0 0 q 5)" "0,sideways,1,q,1/s,higher,4"
bad "a direction that is none" "bad.csv:3: direction: 'sideways'"
rows "$(row 0 0 q 5)" "5,both,1,q,1/s,higher"
bad "a row cut short" 'bad.csv:3: value: .*fewer fields'
printf 'delay_us,direction,run,metric,unit,value\n0,both,0,q,1/s,5\n' >bad.csv
bad "a column missing" 'bad.csv:1: better: the header has no such column'
LC_ALL=C awk 'BEGIN { srand(106); for (i = 0; i < 300; i++) printf "%c", int(256 * rand()) }' >bad.csv
bad "noise" 'bad.csv'
awk -v header="$header" 'BEGIN { print header; for (i = 0; i < 1000000; i++) printf "%d,both,%d,q,1/s,higher,%d\n", i % 50, i, i }' >bad.csv
bad "a million rows" 'bad.csv:100002: more than 100000 rows'
refuses "a file that is not there" 1 'no-such.csv' "$nomora" fit no-such.csv -o bad.json
refuses "a metric that is not there" 1 "unknown metric 'latency'; known: queries_per_second" "$nomora" fit sweep.csv -m latency -o bad.json
printf '0,1\n10,0.9\n20,0.8\n30,0.7\n' >few.csv
refuses "too few levels for what is asked" 1 'few.csv: 4 delay levels are too few' "$nomora" fit few.csv --model hill -o bad.json
head -c $(($(wc -c <curve.json) / 2)) curve.json >half.json
refuses "a curve.json cut in half" 1 'half.json:[0-9]+: ' "$nomora" fit --compare half.json curve.json --plot bad.svg
sed 's/"form": "jump"/"form": "leap"/' curve.json >wrong.json
refuses "a curve.json with a wrong field" 1 "wrong.json: threshold.form: 'leap'" "$nomora" fit --compare wrong.json curve.json
sed 's,nomora.curve/1,nomora.curve/9,' curve.json >wrong.json
refuses "a curve.json of another schema" 1 'wrong.json: schema: .*nomora.curve/1' "$nomora" fit --compare curve.json wrong.json
refuses "a sweep that goes nowhere" 1 'no-such' "$nomora" fit sweep.csv -o no-such/curve.json
# An option without effect is refused by name.
while IFS='|' read -r purpose words; do
	for option in $words; do
		value=${option#*=}
		[ "$value" != "$option" ] || value=
		case $purpose in
		--expr) first=(sweep.csv --expr 'b1*x' --start b1=1) ;;
		--compare) first=(--compare curve.json curve.json) ;;
		*) first=(sweep.csv) ;;
		esac
		refuses "$purpose with --${option%%=*}" 2 "--${option%%=*} does not apply to $purpose" \
			"$nomora" fit "${first[@]}" "--${option%%=*}" ${value:+"$value"}
	done
done <<-'END'
	--expr|model=log degree=2 threshold=9 continuous without-outliers replicates=9
	--compare|output=bad.json metric=m application=a baseline-rtt-us=5 quiet model=log degree=2 threshold=9 continuous absolute-sigma without-outliers replicates=9 seed=2 expr=x start=b1=1 multistart=3
	a sweep|start=b1=1 response=y bounds=b1=0:1 fix=b1 y-column=y deviation-column=d loss=huber loss-scale=2 multistart=3
END
run "$nomora" fit sweep.csv --expr 'a/(b+x)' --start a=1,b=100 --quiet
[ "$code" -eq 0 ] && [ -z "$out$err" ] && pass "--expr --quiet has no report" || fail "--expr --quiet has no report" "exit $code" "$out$err"
# An application's name is escaped on the terminal and in JSON, whatever its source.
cp sweep.csv "$(printf 'a\033[31m.csv')"
cp sweep.csv "$(printf 'b\377.csv')"
for name in "$(printf 'a\033[31m')" "$(printf 'b\377')"; do
	refuses "an application that is not printable, from a file" 1 "application name.*--application sets another.*expected UTF-8 without control" \
		"$nomora" fit "$name.csv" --replicates 0 -o bad.json
	refuses "and as an option" 2 '--application: expected UTF-8 without control' "$nomora" fit sweep.csv --application "$name"
	run "$nomora" fit "$name.csv" --replicates 0 --application good -o named.json
	[ "$code" -eq 0 ] && grep -q '"application": "good"' named.json && pass "another name goes" || fail "another name goes" "$out$err"
done
refuses "a model that is none" 2 'expected auto, polynomial' "$nomora" fit sweep.csv --model cubic
refuses "degree without polynomial" 2 'for polynomials' "$nomora" fit sweep.csv --model log --degree 2
refuses "no operand" 2 'missing operand SWEEP.csv' "$nomora" fit
[ -e bad.json ] && fail "nothing was left behind" || pass "nothing was left behind"
plan

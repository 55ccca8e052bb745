#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora fit --expr: users' formulas through the command line.
. "$(dirname "$0")/lib.sh"

data=$source_root/tests/data/nist
command -v python3 >/dev/null || skip_all "python3 is not installed"

sed -n '61,$p' "$data/nonlinear/Misra1a.dat" >"$scratch/misra.txt"
run "$nomora" fit "$scratch/misra.txt" --expr 'b1*(1-exp(-b2*x))' --start b1=500,b2=1e-4
if [ "$code" -eq 0 ] && says "$out" '^ +b1 +238\.94212917[0-9]* +2\.7070' &&
	says "$out" 'converged: '; then
	pass "--expr on blank-separated columns"
else
	fail "--expr on blank-separated columns" "exit $code" "$out" "$err"
fi

# Two predictors and a transformed response, from a file with a header.
{
	echo 'strength,weeks,celsius'
	sed -n '61,$p' "$data/nonlinear/Nelson.dat" | awk '{print $1 "," $2 "," $3}'
} >"$scratch/nelson.csv"
for formula in 'b1-b2*weeks*exp(-b3*celsius)' 'b1-b2*x1*exp(-b3*x2)'; do
	run "$nomora" fit "$scratch/nelson.csv" --expr "$formula" --response 'log(y)' --start b1=2,b2=0.0001,b3=-0.01 \
		--y-column strength --json
	if [ "$code" -eq 0 ] && printf '%s' "$out" | python3 -c '
import json, sys
fit = json.load(sys.stdin)
assert fit["schema"] == "nomora.fit_expression/1" and fit["converged"]
assert abs(fit["parameters"][2]["value"] / -5.7701013174e-2 - 1) < 1e-10
assert abs(fit["parameters"][2]["standard_error"] / 3.9572366543e-3 - 1) < 1e-10
assert len(fit["residuals"]) == 128 and len(fit["covariance"]) == 3'; then
		pass "--expr $formula with --response"
	else
		fail "--expr $formula with --response" "exit $code" "$out" "$err"
	fi
done

run "$nomora" fit "$scratch/misra.txt" --expr 'b1*(1-exp(-b2*x))' --start b1=200,b2=5e-4 --bounds b1=:220 --fix b2
if [ "$code" -eq 0 ] && says "$out" '^ +b1 +220 .*at its bound' &&
	says "$out" '^ +b2 +0\.0005 +0 +held'; then
	pass "--bounds and --fix"
else
	fail "--bounds and --fix" "exit $code" "$out" "$err"
fi

# 10 % of the points are outliers: Huber's loss ignores them, least squares does not.
awk 'BEGIN { for (i = 0; i < 60; i++) printf "%.9f %d\n", 3 + 0.5 * i + sin(i * 7) / 100 + (i % 10 == 4 ? 40 : 0), i }' \
	>"$scratch/outliers.txt"
slope() { run "$nomora" fit "$scratch/outliers.txt" --expr 'a+b*x' --start a=0,b=1 "$@"; printf '%s\n' "$out" | awk '$1 == "a" {print $2}'; }
plain=$(slope)
robust=$(slope --loss huber --loss-scale 0.05)
soft=$(slope --loss soft_l1 --loss-scale 0.05)
if awk -v p="$plain" -v r="$robust" -v s="$soft" \
	'BEGIN { exit !(p > 5 && r > 2.95 && r < 3.05 && s > 2.95 && s < 3.05) }'; then
	pass "--loss huber and soft_l1 shrug off outliers"
else
	fail "--loss huber and soft_l1 shrug off outliers" "linear $plain, huber $robust, soft_l1 $soft; wanted about 3"
fi

# A sweep.csv: x is the added round trip, y the normalised performance.
{
	echo delay_us,direction,run,metric,unit,better,value
	awk 'BEGIN { for (d = 0; d <= 400; d += 20) for (r = 0; r < 3; r++)
		printf "%d,both,%d,time,s,lower,%.9f\n", d, r, 10 * (1 + 2 * d / 300) * (1 + (r - 1) / 1000) }'
} >"$scratch/sweep.csv"
run "$nomora" fit "$scratch/sweep.csv" --expr '1/(1+x/k)' --start k=10
if [ "$code" -eq 0 ] && printf '%s\n' "$out" | awk '$1 == "k" { good = $2 > 299.9 && $2 < 300.1 } END { exit !good }'; then
	pass "--expr on a sweep.csv"
else
	fail "--expr on a sweep.csv" "exit $code" "$out" "$err"
fi

fit() { "$nomora" fit "$scratch/misra.txt" "$@"; }
refuses "a formula cut short" 2 "column 7: the formula ends here" fit --expr 'b1*(1-' --start b1=1
refuses "an unknown name" 2 "column 4: found 'c'" fit --expr 'b1*c' --start b1=1
refuses "no start" 2 "needs --start" fit --expr 'b1*x'
refuses "a start without a place" 2 "'b2' has a start but does not occur" fit --expr 'b1*x' --start b1=1,b2=2
refuses "a start that is no number" 2 "expected a number, found 'one'" fit --expr 'b1*x' --start b1=one
refuses "a curve of two predictors" 2 "a curve needs one predictor" \
	"$nomora" fit "$scratch/nelson.csv" --expr 'b1+weeks+celsius' --start b1=2 --y-column strength -o "$scratch/none.json"
refuses "a start out of bounds" 2 "lies outside" fit --expr 'b1*x' --start b1=1 --bounds b1=2:3
refuses "a column that is not there" 1 "no column 'z'" fit --expr 'b1*x' --start b1=1 --y-column z
refuses "a response without a value" 1 "observation 1: the response has no finite value" \
	fit --expr 'b1*x' --start b1=1 --response 'log(0-y)'
printf 'y,x\n1,2\n3\n' >"$scratch/short.csv"
refuses "a row with a field missing" 1 "short\.csv:3: expected 2 fields" \
	"$nomora" fit "$scratch/short.csv" --expr 'b1*x' --start b1=1 -o "$scratch/none.json"
printf 'y,x\n1,2\n3,nan\n' >"$scratch/nan.csv"
refuses "a NaN" 1 "nan\.csv:3: x: expected a number, found 'nan'" \
	"$nomora" fit "$scratch/nan.csv" --expr 'b1*x' --start b1=1 -o "$scratch/none.json"
: >"$scratch/empty.csv"
refuses "an empty file" 1 "empty\.csv.*empty" "$nomora" fit "$scratch/empty.csv" --expr 'b1*x' --start b1=1
printf '1,1,-1\n2,2,1\n' >"$scratch/deviation.csv"
refuses "a negative deviation" 1 "deviation\.csv:1: x2: expected a standard deviation above 0" \
	"$nomora" fit "$scratch/deviation.csv" --expr 'b1*x1' --start b1=1 --deviation-column x2
[ -e "$scratch/none.json" ] && fail "no output file is left" || pass "no output file is left"
run fit --expr '(b1+b2)*x' --start b1=1,b2=2
if [ "$code" -eq 3 ] && says "$out" 'not converged: the data do not determine all parameters'; then
	pass "parameters that cannot be told apart: exit 3"
else
	fail "parameters that cannot be told apart: exit 3" "exit $code" "$out" "$err"
fi

# A user's own formula places jobs: fitted to a sweep whose true curve is 1/(1 + x/30), written as curve.json, used by
# place. The round trip between h1 and h2 is 30 us, between h1 and h3 300: p is 0.5 and 0.09, so the task goes to h2.
{
	echo 'delay_us,direction,run,metric,unit,better,value'
	for delay in 0 5 10 20 40 80 160; do
		for run in 0 1 2; do
			awk -v d=$delay -v r=$run 'BEGIN { printf "%d,both,%d,qps,1/s,higher,%.3f\n", d, r,
				50000 / (1 + 2 * d / 30) * (1 + 0.001 * (r - 1)) }'
		done
	done
} >"$scratch/own.csv"
run "$nomora" fit "$scratch/own.csv" --expr '1/(1+x/s)' --start s=100 -o "$scratch/own.json" --plot "$scratch/own.svg"
if [ "$code" -eq 0 ] && python3 - "$scratch/own.json" <<'END'; then
import json, sys
curve = json.load(open(sys.argv[1]))
assert curve["schema"] == "nomora.curve/1" and curve["model"]["name"] == "formula"
assert curve["application"] == "own" and curve["metric"] == "qps" and len(curve["levels"]) == 7
s = curve["model"]["coefficients"][0]
assert s["name"] == "s" and abs(s["value"] - 30) < 0.1 and 0 < s["standard_error"] < 1
for i, p in enumerate(curve["table"]["p"]):
    assert abs(p - 1 / (1 + 10 * i / 30)) < 1e-3, (i, p)
    assert curve["band"]["low"][i] <= p <= curve["band"]["high"][i]
END
	pass "--expr writes a curve.json"
else
	fail "--expr writes a curve.json" "exit $code" "$out" "$err"
fi
[ -s "$scratch/own.svg" ] && pass "--expr draws the curve" || fail "--expr draws the curve" "exit $code" "$err"
printf '{"schema": "nomora.cluster/1", "machines": [{"name": "h1", "rack": "r1", "slots": 1},
{"name": "h2", "rack": "r1", "slots": 1}, {"name": "h3", "rack": "r2", "slots": 1}]}\n' >"$scratch/three.json"
printf '%s\n' src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at \
	h1,h2,30,30,30,0,9,1795188663 h1,h3,300,300,300,0,9,1795188663 >"$scratch/three.csv"
echo '{"id": "job", "curve": "own", "root": "server", "tasks": [{"name": "server", "machine": "h1"}, "w1"]}' \
	>"$scratch/own.jsonl"
mkdir "$scratch/curves" && cp "$scratch/own.json" "$scratch/curves/"
run "$nomora" place --cluster "$scratch/three.json" --jobs "$scratch/own.jsonl" --latency "$scratch/three.csv" \
	--curves "$scratch/curves" --json
if [ "$code" -eq 0 ] && printf '%s' "$out" | python3 -c '
import json, sys
task = [t for t in json.load(sys.stdin)["tasks"] if t["task"] == "w1"][0]
assert task["machine"] == "h2" and abs(task["performance"] - 0.5) < 0.01, task'; then
	pass "place uses the formula's curve"
else
	fail "place uses the formula's curve" "exit $code" "$out" "$err"
fi
printf '1,0\n95,10\n90,20\n70,50\n' | sed '1s/.*/100,0/' >"$scratch/percent.csv"
refuses "a curve of percent" 1 "expected about 1 at the smallest x \(0\), found 100" \
	"$nomora" fit "$scratch/percent.csv" --expr '100/(1+x/s)' --start s=100 -o "$scratch/none.json"
printf '1,0\n1.1,10\n1.3,20\n1.7,50\n' >"$scratch/rising.csv"
refuses "a formula that rises" 1 "relative to its value at 0: expected 1 or less" \
	"$nomora" fit "$scratch/rising.csv" --expr '1+b*x' --start b=0.01 -o "$scratch/none.json"
[ -e "$scratch/none.json" ] && fail "no curve is left" || pass "no curve is left"
plan

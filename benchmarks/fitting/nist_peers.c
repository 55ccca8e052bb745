/* SPDX-License-Identifier: BSD-3-Clause */
#include "nist_peers.h"

#include <stdio.h>

#include <base/ns.h>
#include <base/process.h>

enum { FOLDERS_MAXIMUM = 8 };

static const char script[] =
	"import glob, re, statistics, sys, time, warnings\n"
	"import numpy as np\n"
	"from numpy import exp, log, sin, cos, arctan, pi\n"
	"from scipy.optimize import curve_fit\n"
	"try: import lmfit\n"
	"except ImportError: lmfit = None\n"
	"warnings.simplefilter('ignore')\n"
	"\n"
	"def scipy_solve(model, names, xs, y, start):\n"
	"    return curve_fit(model, xs.T, y, start)[0]\n"
	"\n"
	"def lmfit_solve(model, names, xs, y, start):\n"
	"    parameters = lmfit.Parameters()\n"
	"    for name, value in zip(names, start): parameters.add(name, value=value)\n"
	"    found = lmfit.minimize(lambda p: model(xs.T, *[p[n].value for n in names]) - y, parameters).params\n"
	"    return [found[n].value for n in names]\n"
	"\n"
	"def read(name):\n"
	"    text = open(name).read()\n"
	"    rows = [[float(v) for v in r] for r in re.findall(r'^ *b\\d+ *= *(\\S+) +(\\S+) +(\\S+) +(\\S+)', text, "
	"re.M)]\n"
	"    if not rows: return None\n"
	"    body = text[text.index('Model:'):text.lower().index('starting values', text.index('Model:'))]\n"
	"    lines = [l for l in body.split('\\n')[1:] if l.strip() and 'Parameters' not in l and not "
	"l.strip().startswith('pi ')]\n"
	"    left, right = ' '.join(lines).split('=', 1)\n"
	"    right = re.sub(r'\\+\\s*e\\s*$', '', right.strip()).replace('[', '(').replace(']', ')')\n"
	"    numbers = [l.split() for l in text[text.rindex('Data:'):].split('\\n')[1:] if l.strip()]\n"
	"    table = np.array([[float(v) for v in l] for l in numbers])\n"
	"    y, xs = table[:, 0], table[:, 1:]\n"
	"    y = np.log(y) if 'log' in left else y\n"
	"    names = ['b%d' % (k + 1) for k in range(len(rows))]\n"
	"    columns = ['x'] if xs.shape[1] == 1 else ['x%d' % (k + 1) for k in range(xs.shape[1])]\n"
	"    source = 'lambda X, ' + ', '.join(names) + ': (lambda ' + ', '.join(columns) + ': ' + right + ')(*X)'\n"
	"    return rows, names, xs, y, eval(source)\n"
	"\n"
	"sets = [read(name) for folder in sys.argv[1:] for name in sorted(glob.glob(folder + '/*.dat'))]\n"
	"for solve in (scipy_solve, lmfit_solve if lmfit else None):\n"
	"    runs = good = 0\n"
	"    digits, seconds = [], 0.0\n"
	"    for rows, names, xs, y, model in [s for s in sets if s and solve]:\n"
	"        for start in (0, 1):\n"
	"            runs += 1\n"
	"            found = [float('nan')] * len(rows)\n"
	"            begin = time.process_time()\n"
	"            try: found = solve(model, names, xs, y, [r[start] for r in rows])\n"
	"            except Exception: pass\n"
	"            seconds += time.process_time() - begin\n"
	"            own = [0.0 if f != f else min(15.0, max(0.0, -np.log10(max(abs(f / r[2] - 1), 1e-15)))) for f, r "
	"in zip(found, rows)]\n"
	"            digits += own\n"
	"            good += min(own) >= 6\n"
	"    print(runs, good, statistics.median(digits or [0.0]), seconds)\n";

static const char *read_tally(const char *text, struct nist_tally *tally)
{
	int used = 0;

	if (sscanf(text, "%d %d %lf %lf %n", &tally->runs, &tally->right, &tally->median_digits, &tally->seconds,
		   &used) != 4)
		tally->runs = 0;
	return text + used;
}

void nist_peers_python(const char *const *folders, int count, struct nist_tally *scipy, struct nist_tally *lmfit)
{
	const char *argv[4 + FOLDERS_MAXIMUM] = {"/usr/bin/python3", "-c", script};
	struct process_options options = {.argv = argv, .discard_stderr = true};
	struct process_result result = {0};
	struct error err = {0};

	for (int k = 0; k < count && k < FOLDERS_MAXIMUM; k++)
		argv[3 + k] = folders[k];
	if (process_run(&options, (struct ns){300 * NS_PER_S}, &result, &err) == 0 && result.exit_code == 0 &&
	    result.output)
		read_tally(read_tally(result.output, scipy), lmfit);
	process_result_free(&result);
}

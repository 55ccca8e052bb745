# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # the scripts use the arrays
# What the scripts of nomora simulate share. They run in the scratch folder.
cd "$scratch" || exit 1
curves=$source_root/curves
simulate=("$nomora" simulate --curves "$curves")
small=(--machines 200 --slots 4 --hours 0.2 --topology 4x10 --check)
field() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }

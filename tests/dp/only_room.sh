#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# lib/dp is the only room that uses DPDK: no other source file mentions its names. Tests and benchmarks may, where they
# create virtual ports. Argument: the source folder.
cd "$1" || exit 2
if grep -rnE '\<rte_[a-z]|\<RTE_[A-Z]|\<__rte_' --include='*.[ch]' apps fitting injector lab lib probe sched |
	grep -vE '^lib/dp/|^[^:]*:[0-9]+:( \*|/\*|.*/\*.*rte_[a-z_.]*h )|librte_'; then
	echo "these lines use DPDK outside of lib/dp: add what they need to dp/packet.h" >&2
	exit 1
fi

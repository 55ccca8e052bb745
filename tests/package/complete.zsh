#!/usr/bin/env zsh
# SPDX-License-Identifier: BSD-3-Clause
# complete.zsh FOLDER LINE EXPECTED: an interactive zsh with the functions of FOLDER completes LINE to EXPECTED. Blocks if it
# does not: run it under timeout(1).
zmodload zsh/zpty
TERM=dumb zpty shell zsh -f -i
# The prompt is written in two parts, so that the echo of this line is not taken for it.
zpty -w shell "PS1='rea''dy> '; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D"
zpty -r shell shown '*ready> *'
zpty -w -n shell "$2"$'\t'
zpty -r shell shown "*$3*"
zpty -d shell

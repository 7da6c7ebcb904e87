#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing, builds everything, runs every gate and test that
# CI runs. Closes with one line "N passed, N failed"; exits 0 only if none failed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse_deps_option "$@"

[ $install_deps = no ] || "$root/scripts/install-deps.sh"
exec python3 "$root/scripts/run_tests.py" --jobs "$(jobs)"

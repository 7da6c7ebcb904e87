#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what FA4 is built and tested with: the one list of the project.
# Debian 12 only; elsewhere it says what to install and exits 2.
set -euo pipefail

# LLVM 22 comes from Debian's own archive (bookworm, updated through security).
packages=(
  cmake ninja-build ccache git python3 ca-certificates
  clang-22 libclang-rt-22-dev lld-22 clang-format-22 clang-tidy-22
  llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  libgtest-dev
  python3-numpy python3-pytest python3-pip python3-setuptools python3-wheel
)

release=unknown
if [ -r /etc/os-release ]; then
  release=$(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-}")
fi
if [ "$release" != "debian 12" ]; then
  echo "install-deps: expected the system to be Debian 12, but got '$release'" >&2
  echo "Install the counterparts of these packages by hand, then run with --no-deps:" >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 2
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-deps: nothing to install"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install-deps: expected to be root or to have sudo, to install: ${missing[*]}" >&2
    exit 2
  fi
  as_root=(sudo)
fi
echo "install-deps: installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -q -y --no-install-recommends "${missing[@]}"

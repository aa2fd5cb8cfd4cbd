#!/usr/bin/env bash
# Prints a section of CHANGELOG.md, without its heading: changelog.sh "1.0.0", changelog.sh "client 1.0.0".
set -euo pipefail
section=$(awk -v heading="## $1" '/^## / { found = $0 == heading } found && !/^## /' "$(dirname "$0")/../../CHANGELOG.md")
if [ -z "${section//[[:space:]]/}" ]; then
  echo "CHANGELOG.md has no section \"$1\"." >&2
  exit 1
fi
echo "$section"

#!/usr/bin/env bash
# Prints the section of a version of a changelog, without its heading: changelog.sh CHANGELOG.md 1.0.0
set -euo pipefail
section=$(awk -v heading="## $2" '/^## / { found = $0 == heading } found && !/^## /' "$1")
if [ -z "${section//[[:space:]]/}" ]; then
  echo "$1 has no section \"$2\"." >&2
  exit 1
fi
echo "$section"

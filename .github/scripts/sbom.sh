#!/usr/bin/env bash
# Prints the SBOM (CycloneDX) of the packages that the functions are bundled from, in the versions of package-lock.json.
# npm cannot describe a project whose workspaces have no version, so it describes a copy without them.
set -euo pipefail
cd "$(dirname "$0")/../.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
node -p 'const { workspaces, devDependencies, optionalDependencies, ...rest } = require("./package.json"); JSON.stringify(rest)' \
  > "$copy/package.json"
cp package-lock.json .npmrc "$copy"
cd "$copy"
npm install --package-lock-only >&2
npm sbom --package-lock-only --sbom-format cyclonedx

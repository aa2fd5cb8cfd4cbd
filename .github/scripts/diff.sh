#!/usr/bin/env bash
# Prints the changes of a deployment as plain text, from two sets of templates and without AWS.
#
#   diff.sh ASSEMBLY DEPLOYED STACK...
#
# ASSEMBLY is the folder of a synthesized assembly. DEPLOYED is a folder with the template of each deployed stack,
# as <stack>.json; a stack that is missing there is not deployed yet.
set -euo pipefail

assembly=$1 deployed=$2
shift 2

for stack in "$@"; do
  printf '== %s\n\n' "${stack}"
  if [ ! -f "${deployed}/${stack}.json" ]; then
    printf 'Not deployed yet: everything is new.\n\n'
    continue
  fi
  # Each deployment has another commit.
  jq 'del(.Outputs.Commit)' "${deployed}/${stack}.json" > "${deployed}/${stack}.without-commit.json"
  diff=$(CI=true node_modules/.bin/cdk diff --app "${assembly}" --exclusively --no-color \
    --template "${deployed}/${stack}.without-commit.json" "${stack}")
  if grep -q 'There were no differences' <<<"${diff}"; then
    printf 'No differences.\n\n'
    continue
  fi
  # The comment (pull-request.yml) looks for these lines.
  node tools/run.mjs compare-templates "${deployed}/${stack}.json" "${assembly}/${stack}.template.json"
  # Every change of the API or of a function's code replaces a deployment or version, as CDK creates them.
  lost=$(grep -E '^\[(-|~)\] .* (destroy|orphan|replace|may be replaced)( |$)' <<<"${diff}" || true)
  if [ -n "${lost}" ] && grep -vqE '^\[(-|~)\] AWS::(ApiGateway::Deployment|Lambda::Version) ' <<<"${lost}"; then
    echo 'WARNING: deletes or replaces resources.'
  fi
  if grep -qE '^(IAM|Security Group) .*Changes$' <<<"${diff}"; then
    echo 'WARNING: changes permissions.'
  fi
  printf '%s\n\n' "${diff}"
done

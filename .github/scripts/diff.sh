#!/usr/bin/env bash
# Prints the changes of a deployment as Markdown, from two sets of templates and without AWS.
#
#   diff.sh ASSEMBLY DEPLOYED STACK...
#
# ASSEMBLY is the folder of a synthesized assembly. DEPLOYED is a folder with the template of each deployed stack,
# as <stack>.json; a stack that is missing there is not deployed yet.
set -euo pipefail

assembly=$1 deployed=$2
shift 2

# A comment on GitHub has at most 65,536 characters, and a diff has characters of three bytes.
limit=$((60000 / $#))

for stack in "$@"; do
  echo "### ${stack}"
  echo
  if [ ! -f "${deployed}/${stack}.json" ]; then
    echo 'Not deployed yet: everything is new.'
    echo
    continue
  fi
  diff=$(CI=true node_modules/.bin/cdk diff --app "${assembly}" --exclusively --no-color --template "${deployed}/${stack}.json" "${stack}")
  if grep -q 'There were no differences' <<<"${diff}"; then
    echo 'No differences.'
    echo
    continue
  fi
  # Every change of the API or of a function's code replaces a deployment or version, as CDK creates them.
  lost=$(grep -E '^\[(-|~)\] .* (destroy|orphan|replace|may be replaced)( |$)' <<<"${diff}" || true)
  if [ -n "${lost}" ] && grep -vqE '^\[(-|~)\] AWS::(ApiGateway::Deployment|Lambda::Version) ' <<<"${lost}"; then
    echo '> [!WARNING]'
    echo '> Deletes or replaces resources.'
    echo
  fi
  if grep -qE '^(IAM|Security Group) .*Changes$' <<<"${diff}"; then
    echo '> [!IMPORTANT]'
    echo '> Changes permissions.'
    echo
  fi
  echo '<details><summary>Differences</summary>'
  echo
  echo '~~~~text'
  if [ "${#diff}" -gt "${limit}" ]; then
    echo "${diff:0:limit}"
    echo "… cut off after ${limit} characters; \`npm run diff\` shows all of it."
  else
    echo "${diff}"
  fi
  echo '~~~~'
  echo
  echo '</details>'
  echo
done

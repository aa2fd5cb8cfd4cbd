import { tableAccess } from '../../../lib/table-access.ts';
import { titleCase } from '../../../lib/title-case.ts';
import type { Exchange, Invocation } from './gateway.ts';
import { checkAnswers } from './model.ts';
import { ensure, type History, within } from './seen.ts';

/** @throws Violation of the first answer that the interface does not allow, or call that the role of a function does not permit */
export function check(history: History): void {
  checkAnswers(history);
  for (const exchange of history.exchanges) within(exchange, () => checkPermissions(exchange));
}

function checkPermissions({ authorizer, operation }: Exchange): void {
  for (const invocation of [authorizer, operation].filter((each) => each !== undefined))
    for (const call of invocation.calls)
      ensure(
        isPermitted(invocation, call),
        `${invocation.entry} may not call ${call.operation} of ${call.table}`,
      );
}

/** Whether the role of a function, which all its versions share, permits a call. */
function isPermitted(
  { entry }: Invocation,
  { operation, table, input }: Invocation['calls'][number],
): boolean {
  const { IndexName: index } = input as { readonly IndexName?: string };
  return tableAccess(entry).some(
    (access) =>
      titleCase(access.table) === table &&
      access.calls.some((call) => call === operation) &&
      (index === undefined ? access.indexes === undefined : access.indexes?.includes(index)),
  );
}

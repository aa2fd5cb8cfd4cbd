import { Stack } from 'aws-cdk-lib';
import { type ILogGroupRef, QueryDefinition, QueryString } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { metrics } from '../../functions/http/metrics.ts';
import type { Api } from '../api/api.ts';
import type { ServiceFunction } from '../compute/service-function.ts';
import type { FunctionEntry } from '../compute/entries.ts';

export interface SavedQueriesProps {
  readonly functions: ReadonlyMap<FunctionEntry, ServiceFunction>;
  readonly api: Api;
}

/**
 * Saved queries of Logs Insights, in a folder with the stack's name. The fields are those of functions/http/telemetry.ts,
 * of the authorizer's log and of the access log in api.ts.
 */
export class SavedQueries extends Construct {
  constructor(scope: Construct, id: string, { functions, api }: SavedQueriesProps) {
    super(scope, id);
    const all = [...functions.values()];
    const operations = all.filter(({ entry }) => entry !== 'authorizer').map(({ logGroup }) => logGroup);
    const authorizer = all.filter(({ entry }) => entry === 'authorizer').map(({ logGroup }) => logGroup);
    const add = (name: string, logGroups: readonly ILogGroupRef[], query: QueryString): void => {
      new QueryDefinition(this, name, {
        queryDefinitionName: `${Stack.of(this).stackName}/${name}`,
        queryString: query,
        logGroups: [...logGroups],
      });
    };

    add('faults', operations, faults);
    add('slowest-requests', operations, slowestRequests);
    add('cold-starts', operations, coldStarts);
    add('one-request', [...operations, api.accessLogs], oneRequest);
    add('one-key', operations, oneKey);
    add('rejections-by-key', operations, rejectionsByKey);
    add('deprecated-calls-by-key', operations, deprecatedCallsByKey);
    add('denied-keys', authorizer, deniedKeys);
    add('gateway-answers', [api.accessLogs], gatewayAnswers);
    add('busiest-addresses', [api.accessLogs], busiestAddresses);
  }
}

const faults = new QueryString({
  fields: ['@timestamp', 'operation', 'status', 'requestId', 'keyId', 'errors.0.name', 'errors.0.message'],
  filterStatements: ["level = 'ERROR'"],
  sort: '@timestamp desc',
  limit: 100,
});

const slowestRequests = new QueryString({
  fields: ['@timestamp', 'operation', 'durationMs', 'coldStart', 'status', 'requestId', 'keyId'],
  filterStatements: ['ispresent(durationMs)'],
  sort: 'durationMs desc',
  limit: 100,
});

export const coldStarts = new QueryString({
  filterStatements: ['ispresent(coldStart)'],
  statsStatements: [
    'sum(coldStart) as coldStarts, count(*) as requests, 100 * sum(coldStart) / count(*) as percent by operation',
  ],
});

const oneRequest = new QueryString({
  filterStatements: ["requestId = 'PUT-THE-X-REQUEST-ID-HERE'"],
  fields: ['@timestamp', '@message'],
  sort: '@timestamp asc',
});

const oneKey = new QueryString({
  filterStatements: ["keyId = 'PUT-THE-KEY-ID-HERE'"],
  statsStatements: ['count(*) as requests by bin(5m), operation, status'],
});

export const rejectionsByKey = new QueryString({
  filterStatements: ['status = 429'],
  statsStatements: [
    `count(*) as rejections, sum(${metrics.suspended}) as suspended, max(@timestamp) as latest by keyId, plan`,
  ],
  sort: 'rejections desc',
  limit: 50,
});

export const deprecatedCallsByKey = new QueryString({
  filterStatements: [`ispresent(${metrics.deprecated})`],
  statsStatements: [
    `sum(${metrics.deprecated}) as calls, max(@timestamp) as latest by keyId, plan, operation`,
  ],
  sort: 'calls desc',
  limit: 50,
});

const deniedKeys = new QueryString({
  filterStatements: ["message.outcome = 'denied'"],
  statsStatements: ['count(*) as denials by message.reason, message.keyId'],
  sort: 'denials desc',
  limit: 50,
});

const gatewayAnswers = new QueryString({
  filterStatements: ["gatewayResponse != '-'"],
  statsStatements: ['count(*) as answers by gatewayResponse, status'],
  sort: 'answers desc',
});

const busiestAddresses = new QueryString({
  statsStatements: [
    "count(*) as requests, sum(strcontains(status, '401')) as withoutKey, sum(strcontains(status, '429')) as rejected by sourceIp",
  ],
  sort: 'requests desc',
  limit: 50,
});

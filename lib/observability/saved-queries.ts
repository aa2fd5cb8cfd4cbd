import { Stack } from 'aws-cdk-lib';
import { type ILogGroupRef, QueryDefinition, QueryString, type QueryStringProps } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { metrics } from '../../functions/http/metrics.ts';
import type { Api } from '../api/api.ts';
import { requestFunctions, type ServiceFunctions } from '../compute/service-function.ts';

/**
 * Every error, on a dashboard too. Lambda's own lines of crashes and time-outs have a `record` instead of a level. The
 * message has all errors of a request with their causes.
 * https://docs.aws.amazon.com/lambda/latest/dg/telemetry-schema-reference.html
 */
export const errorsQuery: QueryStringProps = {
  fields: ['@timestamp', '@log', 'operation', 'status', 'requestId', 'keyId', '@message'],
  filterStatements: ["level in ['ERROR', 'FATAL'] or record.status in ['error', 'failure', 'timeout']"],
  sort: '@timestamp desc',
  limit: 100,
};

/** Queries of the log fields of functions/http/telemetry.ts, functions/authorizer.ts and the access log in api.ts. */
export class SavedQueries extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { functions, api }: { readonly functions: ServiceFunctions; readonly api: Api },
  ) {
    super(scope, id);
    const requests = requestFunctions(functions).map(({ logGroup }) => logGroup);
    const authorizer = functions.get('authorizer')!.logGroup;
    const add = (name: string, logGroups: ILogGroupRef[], query: QueryStringProps): void => {
      const queryDefinitionName = `${Stack.of(this).stackName}/${name}`;
      new QueryDefinition(this, name, {
        queryDefinitionName,
        queryString: new QueryString(query),
        logGroups,
      });
    };

    add('errors', [...requests, authorizer], errorsQuery);
    add('slowest-requests', requests, {
      fields: ['@timestamp', 'operation', 'durationMs', 'coldStart', 'status', 'requestId', 'keyId'],
      filterStatements: ['ispresent(durationMs)'],
      sort: 'durationMs desc',
      limit: 100,
    });
    add('cold-starts', requests, {
      filterStatements: ['ispresent(coldStart)'],
      statsStatements: [
        'sum(coldStart) as coldStarts, count(*) as requests, 100 * sum(coldStart) / count(*) as percent by operation',
      ],
    });
    add('one-request', [...requests, api.accessLogs], {
      filterStatements: ["requestId = 'PUT-THE-X-REQUEST-ID-HERE'"],
      fields: ['@timestamp', '@message'],
      sort: '@timestamp asc',
    });
    add('one-key', requests, {
      filterStatements: ["keyId = 'PUT-THE-KEY-ID-HERE'"],
      statsStatements: ['count(*) as requests by bin(5m), operation, status'],
    });
    add('rejections-by-key', requests, {
      filterStatements: ['status = 429'],
      statsStatements: [
        `count(*) as rejections, sum(${metrics.suspended}) as suspended, max(@timestamp) as latest by keyId, plan`,
      ],
      sort: 'rejections desc',
      limit: 50,
    });
    add('deprecated-calls-by-key', requests, {
      filterStatements: [`ispresent(${metrics.deprecated})`],
      statsStatements: [
        `sum(${metrics.deprecated}) as calls, max(@timestamp) as latest by keyId, plan, operation`,
      ],
      sort: 'calls desc',
      limit: 50,
    });
    add('rejected-known-keys', [api.accessLogs], {
      filterStatements: ["status = '401' and keyId != '-'"],
      statsStatements: ['count(*) as requests, max(@timestamp) as latest by keyId, plan, gatewayResponse'],
      sort: 'requests desc',
      limit: 50,
    });
    add('denied-keys', [authorizer], {
      filterStatements: ["message.outcome = 'denied'"],
      statsStatements: ['count(*) as denials by message.reason, message.keyId'],
      sort: 'denials desc',
      limit: 50,
    });
    add('gateway-answers', [api.accessLogs], {
      filterStatements: ["gatewayResponse != '-'"],
      statsStatements: ['count(*) as answers by gatewayResponse, status'],
      sort: 'answers desc',
    });
    add('busiest-addresses', [api.accessLogs], {
      statsStatements: [
        "count(*) as requests, sum(strcontains(status, '401')) as withoutKey, sum(strcontains(status, '429')) as rejected by sourceIp",
      ],
      sort: 'requests desc',
      limit: 50,
    });
  }
}

import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Alarms } from './observability/alarms.ts';
import { Api } from './api/api.ts';
import { CustomDomain } from './api/custom-domain.ts';
import { Dashboards } from './observability/dashboards.ts';
import { Functions } from './compute/functions.ts';
import { titleCase } from './title-case.ts';
import { SafeDeployment } from './delivery/safe-deployment.ts';
import { SavedQueries } from './observability/saved-queries.ts';
import type { ServiceFunction } from './compute/service-function.ts';
import type { FunctionEntry } from './compute/entries.ts';
import type { StageName } from './stages.ts';
import type { StageSettings } from './settings.ts';
import { Tables } from './storage/tables.ts';
import { UsagePlans } from './api/usage-plans.ts';
import { WebAcl } from './api/web-acl.ts';

export interface AnimalStoreStackProps {
  readonly stage: StageName;
  readonly settings: StageSettings;
}

interface Observed {
  readonly functions: ReadonlyMap<FunctionEntry, ServiceFunction>;
  readonly tables: Tables;
  readonly api: Api;
  readonly settings: StageSettings;
}

/** One stage of the service. */
export class AnimalStoreStack extends Stack {
  constructor(scope: Construct, id: string, { stage, settings }: AnimalStoreStackProps) {
    super(scope, id, {
      description: `Animal Store Service, stage ${stage}`,
      terminationProtection: settings.deletionProtection,
      tags: { service: 'animal-store', stage },
    });
    const tables = new Tables(this, 'Tables', settings);
    const functions = new Functions(this, 'Functions', { stage, settings, tables });
    const api = new Api(this, 'Api', { functions: functions.byEntry, settings });
    const usagePlans = new UsagePlans(this, 'UsagePlans', {
      api: api.restApi,
      account: settings.accountThrottle,
    });
    const url = this.#frontDoor(api, settings);
    this.#observe({ functions: functions.byEntry, tables, api, settings });

    // Used by the key tool, the smoke test and operators.
    this.#output('ApiUrl', url);
    this.#output('RestApiId', api.restApi.restApiId);
    this.#output('PetsTableName', tables.pets.tableName);
    this.#output('ApiKeysTableName', tables.apiKeys.tableName);
    this.#output('RateLimitsTableName', tables.rateLimits.tableName);
    this.#output('IdempotencyTableName', tables.idempotency.tableName);
    for (const [plan, { usagePlanId }] of usagePlans.plans) {
      this.#output(`UsagePlanId${titleCase(plan)}`, usagePlanId);
    }
  }

  /** @returns the base URL for clients */
  #frontDoor(api: Api, { domain, waf, endpoint }: StageSettings): string {
    if (waf !== undefined) {
      new WebAcl(this, 'WebAcl', { api: api.restApi, requestsPerAddress: waf.requestsPerAddress });
    }
    if (domain === undefined) return api.url;
    const { url, target } = new CustomDomain(this, 'Domain', { api: api.restApi, domain, endpoint });
    this.#output('DomainTarget', target);
    return url;
  }

  #observe({ functions, tables, api, settings }: Observed): void {
    const alarms = settings.alarms
      ? new Alarms(this, 'Alarms', { functions, tables, notificationAddress: settings.notificationAddress })
      : undefined;
    if (alarms !== undefined) this.#output('AlarmTopicArn', alarms.topic.topicArn);
    if (alarms !== undefined && settings.deployment === 'canary') {
      new SafeDeployment(this, 'SafeDeployment', { functions: functions.values(), alarms });
    }
    if (settings.dashboards) {
      new SavedQueries(this, 'SavedQueries', { functions, api });
      new Dashboards(this, 'Dashboards', { functions, tables, api, alarms: alarms?.all ?? [] });
    }
  }

  /** Outputs are not exported: an export's name must be unique in its account and Region. */
  #output(name: string, value: string): void {
    new CfnOutput(this, name, { value });
  }
}

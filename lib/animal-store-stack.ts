import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Api } from './api.ts';
import { Functions } from './functions.ts';
import type { StageName, StageSettings } from './stages.ts';
import { Tables } from './tables.ts';
import { titleCase, UsagePlans } from './usage-plans.ts';

export interface AnimalStoreStackProps {
  readonly stage: StageName;
  readonly settings: StageSettings;
}

/** One stage of the service, whole. */
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
    const usagePlans = new UsagePlans(this, 'UsagePlans', api.restApi);

    // What the key tool, the smoke test and people look up.
    this.#output('ApiUrl', api.url);
    this.#output('RestApiId', api.restApi.restApiId);
    this.#output('PetsTableName', tables.pets.tableName);
    this.#output('ApiKeysTableName', tables.apiKeys.tableName);
    this.#output('RateLimitsTableName', tables.rateLimits.tableName);
    for (const [plan, { usagePlanId }] of usagePlans.plans) {
      this.#output(`UsagePlanId${titleCase(plan)}`, usagePlanId);
    }
  }

  /** Outputs are not exported: an export's name must be unique in its account and Region. */
  #output(name: string, value: string): void {
    new CfnOutput(this, name, { value });
  }
}

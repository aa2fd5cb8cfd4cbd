import { Annotations, CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Alarms } from './observability/alarms.ts';
import { Api } from './api/api.ts';
import { Budget } from './observability/budget.ts';
import { CustomDomain } from './api/custom-domain.ts';
import { Dashboards } from './observability/dashboards.ts';
import { Functions } from './compute/functions.ts';
import { titleCase } from './title-case.ts';
import { SafeDeployment } from './delivery/safe-deployment.ts';
import { limitRoles } from './security-checks.ts';
import { SavedQueries } from './observability/saved-queries.ts';
import type { StageName } from './configuration/stages.ts';
import type { StageSettings } from './configuration/settings.ts';
import { tableDefinitions } from './storage/table-definitions.ts';
import { tableNames } from '../functions/tables.ts';
import { Tables } from './storage/tables.ts';
import { UsagePlans } from './api/usage-plans.ts';
import { WebAcl } from './api/web-acl.ts';

export interface AnimalStoreStackProps extends StackProps {
  readonly stage: StageName;
  readonly settings: StageSettings;
  /** The address of the repository, for links in alarms. */
  readonly repository: string | undefined;
  /** The commit that the code was built from. */
  readonly commit: string | undefined;
}

/** One stage of the service. */
export class AnimalStoreStack extends Stack {
  constructor(scope: Construct, id: string, props: AnimalStoreStackProps) {
    const { stage, settings, commit } = props;
    const tags = { service: 'animal-store', stage };
    super(scope, id, {
      ...(props.env !== undefined && { env: props.env }),
      description: `Animal Store Service, stage ${stage}`,
      terminationProtection: settings.deletionProtection,
      tags,
    });
    limitRoles(this, settings.permissionsBoundary);
    const { byName: tables } = new Tables(this, 'Tables', { ...settings, tags });
    const { byEntry: functions } = new Functions(this, 'Functions', { stage, settings, tables });
    const api = new Api(this, 'Api', { stage, functions, settings });
    const { restApi } = api;
    const usagePlans = new UsagePlans(this, 'UsagePlans', {
      api: restApi,
      account: settings.accountThrottle,
    });
    const url = this.#frontDoor(api, settings);
    this.#observe({ functions, tables, api }, props);
    if (stage === 'prod') this.#warn(settings);

    // The key tool, the smoke test, deployments and operators use these.
    if (commit !== undefined) this.#output('Commit', commit, 'Commit of the version');
    this.#output('ApiUrl', url, 'Base URL of the API, for clients');
    this.#output('RestApiId', restApi.restApiId, 'ID of the API in API Gateway');
    for (const name of tableNames) {
      const { description } = tableDefinitions[name];
      this.#output(`${titleCase(name)}TableName`, tables[name].tableName, description);
    }
    for (const [plan, { usagePlanId }] of usagePlans.plans) {
      this.#output(`UsagePlanId${titleCase(plan)}`, usagePlanId, `Usage plan of the keys of plan ${plan}`);
    }
  }

  /** @returns the base URL for clients */
  #frontDoor(api: Api, { domain, waf }: StageSettings): string {
    if (waf !== undefined) new WebAcl(this, 'WebAcl', { api: api.restApi, ...waf });
    if (domain === undefined) return api.url;
    const { url, target } = new CustomDomain(this, 'Domain', { api: api.restApi, domain });
    this.#output('DomainTarget', target, 'Target of a CNAME or alias record for the domain');
    return url;
  }

  /** What an operator should not leave as it is in prod. */
  #warn({ alarms, deletionProtection, minimumRequests, notificationAddress }: StageSettings): void {
    const warn = (id: string, text: string): void =>
      Annotations.of(this).addWarningV2(`animal-store:${id}`, text);
    if (alarms && notificationAddress === undefined) {
      const where = 'or subscribe to the topic of the output AlarmTopicArn';
      warn(
        'alarms',
        `The alarms notify nobody. Set notificationAddress (docs/settings.md#all-settings), ${where}.`,
      );
    }
    if (minimumRequests === undefined)
      warn(
        'silence',
        'Nobody notices when requests stop coming. Set minimumRequests (docs/settings.md#all-settings).',
      );
    if (!deletionProtection) {
      const when = 'Deploy again with it once the stack exists';
      warn('deletionProtection', `deletionProtection is off. ${when} (docs/deploy.md).`);
    }
  }

  #observe(
    parts: { functions: Functions['byEntry']; tables: Tables['byName']; api: Api },
    { stage, settings, repository }: AnimalStoreStackProps,
  ): void {
    const { alarms: withAlarms, dashboards, monthlyBudget } = settings;
    if (monthlyBudget !== undefined) new Budget(this, 'Budget', { ...settings, monthlyBudget });
    const alarms = withAlarms ? new Alarms(this, 'Alarms', { ...parts, settings, repository }) : undefined;
    if (alarms !== undefined)
      this.#output('AlarmTopicArn', alarms.topic.topicArn, 'SNS topic that gets the alarms');
    // The local stack is never deployed.
    if (stage !== 'local') {
      const rollingBack = alarms?.rollingBack ?? [];
      new SafeDeployment(this, 'SafeDeployment', { ...parts, stage, settings, alarms: rollingBack });
    }
    if (!dashboards) return;
    new SavedQueries(this, 'SavedQueries', parts);
    new Dashboards(this, 'Dashboards', { ...parts, alarms: alarms?.all ?? [] });
  }

  /** Outputs are not exported: an export's name must be unique in its account and Region. */
  #output(name: string, value: string, description: string): void {
    new CfnOutput(this, name, { value, description });
  }
}

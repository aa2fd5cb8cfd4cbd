import { Stack } from 'aws-cdk-lib';
import type { RestApi } from 'aws-cdk-lib/aws-apigateway';
import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';

export interface WebAclProps {
  readonly api: RestApi;
  /** Requests from one address within five minutes. */
  readonly requestsPerAddress: number;
}

/**
 * Blocks an address that floods the API, with or without a key, before the authorizer runs. WAF_FILTERED in
 * gateway-responses.ts defines the response and says that a rate was exceeded, so all rules must be rate rules.
 * https://docs.aws.amazon.com/waf/latest/developerguide/waf-rule-statement-type-rate-based.html
 */
export class WebAcl extends Construct {
  constructor(scope: Construct, id: string, { api, requestsPerAddress: limit }: WebAclProps) {
    super(scope, id);
    const { stackName } = Stack.of(this);
    const acl = new CfnWebACL(this, 'Acl', {
      scope: 'REGIONAL',
      defaultAction: { allow: {} },
      visibilityConfig: visibility(stackName),
      rules: [
        {
          name: 'requests-per-address',
          priority: 0,
          action: { block: {} },
          statement: { rateBasedStatement: { aggregateKeyType: 'IP', limit, evaluationWindowSec: 300 } },
          visibilityConfig: visibility(`${stackName}-requests-per-address`),
        },
      ],
    });
    new CfnWebACLAssociation(this, 'Association', {
      webAclArn: acl.attrArn,
      resourceArn: api.deploymentStage.stageArn,
    });
  }
}

/** Samples contain headers, and so API keys. */
function visibility(metricName: string): CfnWebACL.VisibilityConfigProperty {
  return { cloudWatchMetricsEnabled: true, sampledRequestsEnabled: false, metricName };
}

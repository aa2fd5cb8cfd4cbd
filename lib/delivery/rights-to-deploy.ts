/** An action of IAM, and the ARNs that it is permitted for. */
export type Right = readonly [action: string, ...resources: string[]];

export interface Place {
  readonly partition: string;
  readonly region: string;
  readonly account: string;
}

/**
 * What the deployment and the roll back of a stack need, and `cdk rollback`: the roles of `cdk bootstrap`, and what the checks of
 * tools/operators/deploy read.
 */
export function rightsToDeploy(
  { partition, region, account }: Place,
  qualifier: string,
  stackName: string,
): readonly Right[] {
  const arnOf = (service: string, resource: string): string =>
    `arn:${partition}:${service}:${region}:${account}:${resource}`;
  const roles = ['deploy', 'file-publishing', 'lookup'].map(
    (part) => `arn:${partition}:iam::${account}:role/cdk-${qualifier}-${part}-role-${account}-${region}`,
  );
  const stack = arnOf('cloudformation', `stack/${stackName}/*`);
  return [
    ['sts:AssumeRole', ...roles],
    ['cloudformation:DescribeStacks', stack, arnOf('cloudformation', 'stack/CDKToolkit/*')],
    ['cloudformation:GetTemplate', stack],
    ['apigateway:GET', `arn:${partition}:apigateway:${region}::/account`],
    ['lambda:GetAccountSettings', '*'],
    ['cloudformation:DescribeType', '*'],
  ];
}

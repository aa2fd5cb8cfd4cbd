import { type App, type Stack, Token, Validations } from 'aws-cdk-lib';
import { type IPrincipal, ManagedPolicy, PermissionsBoundary, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import type { IConstruct } from 'constructs';

/** Checks the stacks against cdk-nag's AWS Solutions and Serverless rules. A finding fails the synthesis. */
export function addSecurityChecks(app: App): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
}

/** No role of the stack exceeds the managed policy. @param boundary its name, with its path if it has one */
export function limitRoles(stack: Stack, boundary: string | undefined): void {
  if (boundary === undefined) return;
  PermissionsBoundary.of(stack).apply(
    ManagedPolicy.fromManagedPolicyName(stack, 'PermissionsBoundary', boundary),
  );
}

/** Acknowledges findings that do not apply to a construct and its children: rule and reason. */
export function acknowledge(construct: IConstruct, reasons: Readonly<Record<string, string>>): void {
  const rules = Object.entries(reasons).map(([id, reason]) => ({ id, reason }));
  Validations.of(construct).acknowledge(...rules);
}

/** A value as the findings of cdk-nag show it: by the name of its parameter if the stack does not know it. */
export function inFinding(value: string, parameter: 'AccountId' | 'Partition' | 'Region'): string {
  return Token.isUnresolved(value) ? `<AWS::${parameter}>` : value;
}

/**
 * A service of AWS that acts for this account. A role that only named the service could be used by a service that somebody in
 * another account deceives: https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html. AWS shows the condition for roles of
 * Lambda and of CodeDeploy. No record of a run with it was found (docs/aws-checks.md#roles-of-this-account-only).
 * https://docs.aws.amazon.com/lambda/latest/dg/permissions-managed-policies.html
 * https://docs.aws.amazon.com/codedeploy/latest/userguide/security_confused_deputy.html
 */
export function ofThisAccount(service: string, { account }: Stack): IPrincipal {
  return new ServicePrincipal(service, { conditions: { StringEquals: { 'aws:SourceAccount': account } } });
}

import { CfnBudget } from 'aws-cdk-lib/aws-budgets';
import { Construct } from 'constructs';

export interface BudgetProps {
  /** US dollars. */
  readonly monthlyBudget: number;
  readonly notificationAddress?: string | undefined;
}

/**
 * An e-mail when the account has spent 80 % of a month's budget, and when AWS expects it to exceed it. Of the whole account: a filter by
 * tag is silent until somebody activates the tag in Billing. https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-best-practices.html
 */
export class Budget extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { monthlyBudget: amount, notificationAddress: address = '' }: BudgetProps,
  ) {
    super(scope, id);
    const notify = (notificationType: 'ACTUAL' | 'FORECASTED', threshold: number) => ({
      notification: { notificationType, threshold, comparisonOperator: 'GREATER_THAN' },
      subscribers: [{ subscriptionType: 'EMAIL', address }],
    });
    new CfnBudget(this, 'Budget', {
      budget: { budgetType: 'COST', timeUnit: 'MONTHLY', budgetLimit: { amount, unit: 'USD' } },
      notificationsWithSubscribers: [notify('ACTUAL', 80), notify('FORECASTED', 100)],
    });
  }
}

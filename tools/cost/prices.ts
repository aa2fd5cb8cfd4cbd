/**
 * AWS list prices: the only place where they stand. On-demand, without free tier, discounts and taxes, each of the first
 * tier where a price falls with volume. Prices change and differ between Regions: check the page of a price before
 * relying on it, and the date below after changing one.
 */
export const priceList = {
  region: 'us-east-1',
  /** When they were looked up. */
  date: '2026-11-21',
} as const;

export interface Price {
  readonly name: string;
  /** US dollars for `per` units. */
  readonly usd: number;
  readonly per: number;
  readonly unit: string;
  readonly source: string;
}

const million = 1_000_000;
const gigabyte = 1024 ** 3;

const apiGateway = 'https://aws.amazon.com/api-gateway/pricing/';
const lambda = 'https://aws.amazon.com/lambda/pricing/';
const dynamoDb = 'https://aws.amazon.com/dynamodb/pricing/on-demand/';
const cloudWatch = 'https://aws.amazon.com/cloudwatch/pricing/';

export const prices = {
  gatewayCall: { name: 'REST API call', usd: 3.5, per: million, unit: 'million', source: apiGateway },
  invocation: { name: 'Lambda request', usd: 0.2, per: million, unit: 'million', source: lambda },
  gbSecond: { name: 'Lambda duration, arm64', usd: 0.0000133334, per: 1, unit: 'GB-second', source: lambda },
  warmGbSecond: {
    name: 'Lambda provisioned concurrency, arm64',
    usd: 0.0000033334,
    per: 1,
    unit: 'GB-second',
    source: lambda,
  },
  readUnit: {
    name: 'DynamoDB read request unit',
    usd: 0.125,
    per: million,
    unit: 'million',
    source: dynamoDb,
  },
  writeUnit: {
    name: 'DynamoDB write request unit',
    usd: 0.625,
    per: million,
    unit: 'million',
    source: dynamoDb,
  },
  tableStorage: { name: 'DynamoDB storage', usd: 0.25, per: gigabyte, unit: 'GB-month', source: dynamoDb },
  recovery: {
    name: 'DynamoDB point-in-time recovery',
    usd: 0.2,
    per: gigabyte,
    unit: 'GB-month',
    source: dynamoDb,
  },
  logIngestion: {
    name: 'CloudWatch Logs ingestion',
    usd: 0.5,
    per: gigabyte,
    unit: 'GB',
    source: cloudWatch,
  },
  logStorage: {
    name: 'CloudWatch Logs storage',
    usd: 0.03,
    per: gigabyte,
    unit: 'GB-month',
    source: cloudWatch,
  },
  metric: { name: 'CloudWatch metric', usd: 0.3, per: 1, unit: 'metric-month', source: cloudWatch },
  alarmMetric: {
    name: 'CloudWatch alarm',
    usd: 0.1,
    per: 1,
    unit: 'metric of an alarm, a month',
    source: cloudWatch,
  },
  dashboard: { name: 'CloudWatch dashboard', usd: 3, per: 1, unit: 'dashboard-month', source: cloudWatch },
  trace: {
    name: 'X-Ray trace recorded',
    usd: 5,
    per: million,
    unit: 'million',
    source: 'https://aws.amazon.com/xray/pricing/',
  },
  transferOut: {
    name: 'Data transfer to the internet',
    usd: 0.09,
    per: gigabyte,
    unit: 'GB',
    source: 'https://aws.amazon.com/ec2/pricing/on-demand/',
  },
  webAcl: {
    name: 'WAF web ACL',
    usd: 5,
    per: 1,
    unit: 'month',
    source: 'https://aws.amazon.com/waf/pricing/',
  },
  webAclRule: {
    name: 'WAF rule',
    usd: 1,
    per: 1,
    unit: 'month',
    source: 'https://aws.amazon.com/waf/pricing/',
  },
  inspection: {
    name: 'WAF request',
    usd: 0.6,
    per: million,
    unit: 'million',
    source: 'https://aws.amazon.com/waf/pricing/',
  },
} as const satisfies Record<string, Price>;

export type Priced = keyof typeof prices;

/** What a quantity of something costs, in US dollars. */
export function cost(item: Priced, quantity: number): number {
  const { usd, per } = prices[item];
  return (usd * quantity) / per;
}

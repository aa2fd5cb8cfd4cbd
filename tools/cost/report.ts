import { fixedPlans, planNames } from '../../functions/access/plans.ts';
import { metrics } from '../../functions/http/metrics.ts';
import { usagePlanSettings } from '../../lib/api/usage-plans.ts';
import { type GeneratedParts, markdownTable } from '../generated.ts';
import { itemBytes, storageOverheadBytes } from './capacity.ts';
import { cost, priceList, type Priced, prices } from './prices.ts';
import { add, costOf, ordinary, type RequestKind, times, type Use, usesOf, worst } from './requests.ts';
import type { StageFootprint } from './stage.ts';

const million = 1_000_000;
const daysOfLongestMonth = 31;
const secondsOfLongestMonth = daysOfLongestMonth * 86_400;

/** The parts of docs/cost.md that are computed. */
export function costParts(stages: {
  readonly staging: StageFootprint;
  readonly prod: StageFootprint;
}): GeneratedParts {
  const uses = usesOf(stages.prod);
  return {
    prices: priceTable(),
    assumptions: assumptionTable(stages.prod),
    requests: requestTable(uses),
    sensitivity: sensitivityTable(stages.prod),
    refusals: refusalTable(uses),
    month: monthTable(stages.prod, uses),
    free: freeTable(stages.prod),
    idle: idleTable(stages),
    options: optionTable(stages.prod),
    storage: storageTable(stages.prod),
  };
}

function priceTable(): string {
  return [
    `List prices of ${priceList.region}, looked up on ${priceList.date}.`,
    '',
    markdownTable(
      ['What', 'US $', 'for each', 'Source'],
      Object.values(prices).map(({ name, usd, unit, source }) => [name, String(usd), unit, `<${source}>`]),
    ),
  ].join('\n');
}

function assumptionTable({ memory }: StageFootprint): string {
  const { requestsPerActiveMinute, roundTrip, coldStarts, coldStart, headerBytes, animal, traced } = ordinary;
  return markdownTable(
    ['Assumed', 'Value'],
    [
      ['Requests of a key in a minute in which it sends any', String(requestsPerActiveMinute)],
      ['Billed duration of a warm execution', `${roundTrip} ms; ${2 * roundTrip} ms to create`],
      ['Memory of the functions', `${[...new Set(memory.values())].join(', ')} MiB`],
      ['Cold starts', `${percent(coldStarts)} of the executions, ${coldStart} ms billed`],
      ['An animal', `${itemBytes(animal)} bytes stored, ${JSON.stringify(animal).length} bytes as JSON`],
      ['Headers of an answer', `${headerBytes} bytes`],
      ['Requests traced', percent(traced)],
    ],
  );
}

const served: readonly (readonly [kind: RequestKind, name: string])[] = [
  ['listByStatus', '`GET /pets?status=…`, 20 animals'],
  ['list', '`GET /pets`, 20 animals'],
  ['listLongest', '`GET /pets?limit=100`'],
  ['get', '`GET /pets/{petId}`'],
  ['create', '`POST /pets`'],
];

const refused: readonly (readonly [kind: RequestKind, name: string])[] = [
  ['rejectedRead', '429 of the limiter, to a listing'],
  ['rejectedCreate', '429 of the limiter, to a creation'],
  ['suspended', '429 to a suspended key, to a listing'],
  ['unmatched', '404, 405'],
  ['unknownKey', '401, well-formed key that was never issued'],
  ['unauthenticated', '401, no key or a malformed one'],
  ['throttled', '429 of the gateway: bucket or quota'],
];

/** The columns of the tables of requests: what belongs together on a bill. */
const columns: readonly (readonly [heading: string, items: readonly Priced[]])[] = [
  ['API Gateway', ['gatewayCall']],
  ['Lambda', ['invocation', 'gbSecond']],
  ['DynamoDB', ['readUnit', 'writeUnit']],
  ['Logs', ['logIngestion']],
  ['X-Ray', ['trace']],
  ['Transfer', ['transferOut']],
];

function requestTable(uses: Readonly<Record<RequestKind, Use>>): string {
  return markdownTable(
    ['A million requests', 'Reads', 'Writes', ...columns.map(([heading]) => heading), 'US $'],
    served.map(([kind, name]) => row(name, uses[kind], { units: true })),
  );
}

function refusalTable(uses: Readonly<Record<RequestKind, Use>>): string {
  return markdownTable(
    ['A million answers', ...columns.map(([heading]) => heading), 'US $'],
    refused.map(([kind, name]) => row(name, uses[kind], { units: false })),
  );
}

function row(name: string, use: Use, { units }: { readonly units: boolean }): string[] {
  const perMillion = times(million, use);
  const partOf = (items: readonly Priced[]) =>
    items.reduce((total, item) => total + cost(item, perMillion[item] ?? 0), 0);
  return [
    name,
    ...(units ? [round(use.readUnit ?? 0), round(use.writeUnit ?? 0)] : []),
    ...columns.map(([, items]) => dollars(partOf(items))),
    dollars(costOf(perMillion)),
  ];
}

/** What a million listings cost more, or less, where something is other than assumed. */
function sensitivityTable(prod: StageFootprint): string {
  const halved = { ...prod, memory: new Map([...prod.memory].map(([entry, memory]) => [entry, memory / 2])) };
  const asAssumed = usesOf(prod).list;
  const cases: readonly (readonly [name: string, use: Use])[] = [
    ['Executions take 10 ms longer', usesOf(prod, { ...ordinary, roundTrip: ordinary.roundTrip + 10 }).list],
    ['The functions have half the memory, and take as long', usesOf(halved).list],
    ['One execution in ten is a cold start', usesOf(prod, { ...ordinary, coldStarts: 0.1 }).list],
    ['Keys send one request a minute', usesOf(prod, { ...ordinary, requestsPerActiveMinute: 1 }).list],
    ['Keys send sixty requests a minute', usesOf(prod, { ...ordinary, requestsPerActiveMinute: 60 }).list],
    ['Every request is traced', usesOf(prod, { ...ordinary, traced: 1 }).list],
  ];
  return markdownTable(
    ['If …', 'US $ more for a million `GET /pets`'],
    cases.map(([name, use]) => {
      const more = million * (costOf(use) - costOf(asAssumed));
      return [name, `${more < 0 ? '−' : ''}${Math.abs(more).toFixed(2)}`];
    }),
  );
}

/** How requests are spread in the example of a month: people browse. */
const mix: readonly (readonly [kind: RequestKind, share: number])[] = [
  ['list', 0.5],
  ['listByStatus', 0.35],
  ['get', 0.1],
  ['create', 0.05],
];

function monthTable(prod: StageFootprint, uses: Readonly<Record<RequestKind, Use>>): string {
  const average = add(...mix.map(([kind, share]) => times(share, uses[kind])));
  const stage = sum(fixedCosts(prod)) + sum(usedMetrics(prod));
  const rows = [0.1, 1, 10, 100].map((millions) => {
    const requests = millions * million;
    // Up to one request a second is traced whatever the share, which is nearly all of them while there are few.
    const alwaysTraced = Math.min(requests, secondsOfLongestMonth) * (1 - ordinary.traced);
    const variable = costOf(add(times(requests, average), { trace: alwaysTraced }));
    return [
      String(millions),
      (requests / secondsOfLongestMonth).toFixed(requests < million ? 2 : 1),
      dollars(variable),
      dollars(stage),
      dollars(variable + stage),
    ];
  });
  return markdownTable(
    ['Million requests a month', 'a second', 'Requests, US $', 'Stage, US $', 'Together, US $'],
    rows,
  );
}

function freeTable(prod: StageFootprint): string {
  const { perDay } = fixedPlans.free;
  const { quota = 0 } = usagePlanSettings('free');
  const uses = usesOf(prod, worst);
  const [mostExpensive, admitted] = maximum(served.map(([kind, name]) => [name, uses[kind]] as const));
  const [, rejected] = maximum([
    ['rejected', uses.rejectedLongest],
    ['rejected', uses.rejectedCreate],
  ]);
  const days = daysOfLongestMonth;
  const month = [
    [`${number(perDay)} requests a day, each a ${mostExpensive}`, times(days * perDay, admitted)],
    [
      `${number(quota - perDay)} rejections a day, up to the gateway's quota`,
      times(days * (quota - perDay), rejected),
    ],
  ] as const;
  return markdownTable(
    [`A month of ${days} days`, 'US $'],
    [
      ...month.map(([name, use]) => [name, dollars(costOf(use))]),
      ['At most', dollars(costOf(add(...month.map(([, use]) => use))))],
    ],
  );
}

function maximum(kinds: readonly (readonly [name: string, use: Use])[]): readonly [name: string, use: Use] {
  return kinds.reduce((highest, each) => (costOf(each[1]) > costOf(highest[1]) ? each : highest));
}

type Line = readonly [name: string, quantity: number, item: Priced];

function sum(lines: readonly Line[]): number {
  return lines.reduce((total, [, quantity, item]) => total + cost(item, quantity), 0);
}

/** What a stage costs by being there. */
function fixedCosts({ alarmMetrics, dashboards }: StageFootprint): Line[] {
  return [
    ['Metrics that alarms watch', alarmMetrics, 'alarmMetric'],
    ['Dashboards', dashboards, 'dashboard'],
  ];
}

/** Metrics cost by the hour in which something is counted. This is the most they come to. */
function usedMetrics({ meteredMethods }: StageFootprint): Line[] {
  const ofFunctions = Object.keys(metrics).length * (planNames.length + 1);
  return [
    ['Metrics that the functions count: each by plan and in all', ofFunctions, 'metric'],
    ['Metrics of each method of the API', meteredMethods * metricsOfMethod, 'metric'],
  ];
}

/**
 * Count, Latency, IntegrationLatency, 4XXError, 5XXError:
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-metrics-and-dimensions.html
 */
const metricsOfMethod = 5;

/** Leaves out what neither stage has. */
function idleTable(stages: Readonly<Record<'staging' | 'prod', StageFootprint>>): string {
  const lines = (lineOf: (footprint: StageFootprint) => Line[], total: string): string[][] => {
    const [staging, prod] = [lineOf(stages.staging), lineOf(stages.prod)];
    return [
      ...prod.flatMap(([name, quantity, item], index) => {
        const inStaging = staging[index]![1];
        if (quantity === 0 && inStaging === 0) return [];
        return [
          [
            name,
            String(inStaging),
            dollars(cost(item, inStaging)),
            String(quantity),
            dollars(cost(item, quantity)),
          ],
        ];
      }),
      [total, '', dollars(sum(staging)), '', dollars(sum(prod))],
    ];
  };
  return markdownTable(
    ['A month', 'staging', 'US $', 'prod', 'US $'],
    [...lines(fixedCosts, '**Idle**'), ...lines(usedMetrics, '**In use, at most, besides its requests**')],
  );
}

function optionTable({ memory }: StageFootprint): string {
  const gibibytes = Math.max(...memory.values()) / 1024;
  return markdownTable(
    ['Option, off by default', 'US $ a month', 'US $ a million requests'],
    [
      [
        '`waf`: a web ACL with its rule',
        dollars(cost('webAcl', 1) + cost('webAclRule', 1)),
        dollars(cost('inspection', million)),
      ],
      [
        '`provisionedConcurrency`: each environment kept warm',
        dollars(cost('warmGbSecond', gibibytes * secondsOfLongestMonth)),
        '–',
      ],
    ],
  );
}

function storageTable(prod: StageFootprint): string {
  // In the table, and once more in the index.
  const stored = 2 * (itemBytes(ordinary.animal) + storageOverheadBytes) * million;
  const uses = usesOf(prod);
  const logged = million * (uses.listByStatus.logIngestion ?? 0);
  return markdownTable(
    ['Kept for a month', 'GB', 'US $'],
    [
      ['A million animals, with their index', gigabytes(stored), dollars(cost('tableStorage', stored))],
      [
        'Their recovery to any second of the last 35 days (prod)',
        gigabytes(stored / 2),
        dollars(prod.pointInTimeRecovery ? cost('recovery', stored / 2) : 0),
      ],
      [
        `The logs of a million requests a month, for ${prod.logRetentionDays} days`,
        gigabytes((logged * prod.logRetentionDays) / 30),
        dollars(cost('logStorage', (logged * prod.logRetentionDays) / 30)),
      ],
    ],
  );
}

function dollars(amount: number): string {
  return amount > 0 && amount < 0.005 ? '< 0.01' : amount.toFixed(2);
}

function gigabytes(bytes: number): string {
  return (bytes / 1024 ** 3).toFixed(2);
}

function round(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function percent(share: number): string {
  return `${share * 100} %`;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

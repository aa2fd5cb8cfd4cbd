import { describe, expect, it } from 'vitest';
import { resourcesOf, synthesize } from './synthesis.ts';

/**
 * CloudFormation knows a resource by its logical id: under another one it is a new resource, and the old one goes. For
 * those below that cannot be undone, since something hangs on the old one that is in no template. Never change an id to
 * make this test pass: give the construct its own id back. (The tables are in tables.test.ts.)
 */
const pinned = {
  // Its id is part of the address that clients call, and of what domain, usage plans and key tool refer to.
  'AWS::ApiGateway::RestApi': ['ApiRestApiE35FEAFE'],
  // The last segment of that address. Usage plans, the web ACL and the domain are bound to it.
  'AWS::ApiGateway::Stage': ['ApiRestApiDeploymentStagev157F58EAC'],
  // The key tool binds every key to one of them. A new plan has no keys, so that all of the old one's are turned away.
  'AWS::ApiGateway::UsagePlan': [
    'UsagePlansFreeA3438353',
    'UsagePlansProD81A9807',
    'UsagePlansBusiness61B4708B',
    'UsagePlansEnterprise7D83AA70',
  ],
} as const;

/** Whoever is paged has subscribed to it by hand: a new topic would wake nobody. A laptop has none. */
const alarmTopic = ['AlarmsTopic3A2DFEBA'];

describe.each(['prod', 'staging', 'local'])('in %s', (stage) => {
  const stack = synthesize(stage === 'local' ? { stage } : {}).stack(`AnimalStore-${stage}`);

  it.each(Object.entries(pinned))('%s keeps its logical id', (type, ids) => {
    expect(resourcesOf(stack, type).map(([id]) => id)).toEqual(ids);
  });

  it('the topic of the alarms keeps its logical id, where there is one', () => {
    expect(resourcesOf(stack, 'AWS::SNS::Topic').map(([id]) => id)).toEqual(
      stage === 'local' ? [] : alarmTopic,
    );
  });
});

it('a domain or a web ACL in front of the API leaves all of them where they are', () => {
  const settings = {
    domain: {
      name: 'api.example.com',
      certificateArn: 'arn:aws:acm:eu-west-1:123456789012:certificate/1',
    },
    waf: { requestsPerAddress: 2_000 },
  };
  const stack = synthesize({ stage: 'prod', stages: { prod: settings } }).stack('AnimalStore-prod');
  for (const [type, ids] of Object.entries(pinned)) {
    expect(resourcesOf(stack, type).map(([id]) => id)).toEqual(ids);
  }
});

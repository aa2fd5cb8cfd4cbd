import { describe, expect, it } from 'vitest';
import { resourcesOf, synthesize } from './synthesis.ts';

/**
 * CloudFormation replaces a resource whose logical ID changes. For these resources that cannot be undone, because
 * something outside the template depends on them. Never change an ID to make this test pass: restore the construct's ID.
 * (tables.test.ts has the tables.)
 */
const pinned = {
  // Its ID is part of the URL of clients. The domain, the usage plans and the key tool refer to it.
  'AWS::ApiGateway::RestApi': ['ApiRestApiE35FEAFE'],
  // The last segment of that URL. Usage plans, the web ACL and the domain are bound to it.
  'AWS::ApiGateway::Stage': ['ApiRestApiDeploymentStagev157F58EAC'],
  // The key tool adds every key to one of them. A new usage plan has no keys, so all keys would be rejected.
  'AWS::ApiGateway::UsagePlan': [
    'UsagePlansFreeA3438353',
    'UsagePlansProD81A9807',
    'UsagePlansBusiness61B4708B',
    'UsagePlansEnterprise7D83AA70',
  ],
} as const;

/** Operators subscribe to it by hand, so a new topic would notify nobody. The local stage has none. */
const alarmTopic = ['AlarmsTopic3A2DFEBA'];

describe.each(['prod', 'staging', 'local'])('in %s', (stage) => {
  const stack = synthesize(stage === 'local' ? 'local' : 'default').stack(`AnimalStore-${stage}`);

  it.each(Object.entries(pinned))('%s keeps its logical ID', (type, ids) => {
    expect(resourcesOf(stack, type).map(([id]) => id)).toEqual(ids);
  });

  it('the alarm topic keeps its logical ID', () => {
    expect(resourcesOf(stack, 'AWS::SNS::Topic').map(([id]) => id)).toEqual(
      stage === 'local' ? [] : alarmTopic,
    );
  });
});

it('a custom domain or a web ACL changes no logical ID', () => {
  const stack = synthesize('copy').stack('Shelter-prod');
  for (const [type, ids] of Object.entries(pinned)) {
    expect(resourcesOf(stack, type).map(([id]) => id)).toEqual(ids);
  }
});

import { beforeEach, describe, expect, it } from 'vitest';
import { ApiKeyStore, type UsagePlan } from '../../src/usage-plans/store.ts';

const here = { apiId: 'api', stage: 'v1' };
const elsewhere = { apiId: 'api', stage: 'v2' };
const noon = Date.parse('2026-03-01T12:00:00Z');
const plan = (id: string, changes: Partial<UsagePlan> = {}): UsagePlan => ({
  id,
  name: id,
  description: undefined,
  throttle: undefined,
  quota: undefined,
  apiStages: [here],
  ...changes,
});
const value = (text: string) => text.padEnd(20, 'x');

let keys: ApiKeyStore;

beforeEach(() => {
  keys = new ApiKeyStore();
  keys.setPlans([
    plan('small', { throttle: { rate: 1, burst: 2 }, quota: { limit: 3 } }),
    plan('large'),
    plan('apart', { apiStages: [elsewhere] }),
  ]);
});

function boundKey(planId: string, name: string): string {
  const { id } = keys.create({ value: value(name), enabled: true }, noon);
  keys.bind(planId, id);
  return id;
}

describe('API keys', () => {
  it.each([
    ['x'.repeat(19), 'BadRequestException'],
    ['x'.repeat(129), 'BadRequestException'],
    [`${'x'.repeat(30)} `, 'BadRequestException'],
  ])('rejects the value %s: %s', (text, name) => {
    expect(() => keys.create({ value: text }, noon)).toThrow(expect.objectContaining({ name }));
  });

  it('values have 20 to 128 characters and are unique, and are generated when absent', () => {
    keys.create({ value: 'x'.repeat(20) }, noon);
    keys.create({ value: 'x'.repeat(128) }, noon);
    expect(() => keys.create({ value: 'x'.repeat(20) }, noon)).toThrow(
      expect.objectContaining({ name: 'ConflictException' }),
    );
    const made = keys.create({}, noon);
    expect(made).toMatchObject({ enabled: false, value: expect.stringMatching(/^[0-9A-Za-z]{40}$/) });
    expect(made.id).toMatch(/^[0-9a-z]{10}$/);
  });

  it('a value can be used again after its key is deleted', () => {
    const { id } = keys.create({ value: value('a') }, noon);
    keys.delete(id);
    expect(() => keys.key(id)).toThrow(expect.objectContaining({ name: 'NotFoundException' }));
    keys.create({ value: value('a') }, noon);
  });

  it('a key can be in one plan for each stage', () => {
    const id = boundKey('small', 'a');
    for (const planId of ['small', 'large']) {
      expect(() => keys.bind(planId, id)).toThrow(expect.objectContaining({ name: 'ConflictException' }));
    }
    keys.bind('apart', id);
    expect(keys.plansOfKey(id).map((one) => one.id)).toEqual(['small', 'apart']);
    keys.unbind('small', id);
    keys.bind('large', id);
    expect(keys.keysOfPlan('small')).toEqual([]);
    expect(() => keys.unbind('small', id)).toThrow(expect.objectContaining({ name: 'NotFoundException' }));
  });
});

describe('metering', () => {
  const outcome = (text: string | undefined, now = noon, at = here) => keys.meter(text, at, now).outcome;

  it('a key that is missing, unknown, disabled, deleted, or in no plan of the stage is invalid', () => {
    const id = boundKey('large', 'a');
    expect(outcome(undefined)).toBe('invalid');
    expect(outcome('')).toBe('invalid');
    expect(outcome(value('b'))).toBe('invalid');
    expect(outcome(value('a'), noon, elsewhere)).toBe('invalid');
    expect(outcome(value('a'))).toBe('admitted');
    keys.update(id, { enabled: false }, noon);
    expect(outcome(value('a'))).toBe('invalid');
    keys.update(id, { enabled: true }, noon);
    expect(outcome(value('a'))).toBe('admitted');
    keys.delete(id);
    expect(outcome(value('a'))).toBe('invalid');
  });

  it('checks the bucket before the quota, and a throttled request does not count towards the quota', () => {
    boundKey('small', 'a');
    const seconds = [0, 0, 0, 1, 1, 2];
    expect(seconds.map((second) => outcome(value('a'), noon + second * 1000))).toEqual([
      'admitted',
      'admitted',
      'throttled',
      'admitted',
      'throttled',
      'exhausted',
    ]);
    expect(outcome(value('a'), Date.parse('2026-03-02T00:00:00Z'))).toBe('admitted');
  });

  it('counts usage by day and keeps it over a restart, except for plans that were removed', () => {
    const id = boundKey('small', 'a');
    const other = boundKey('large', 'b');
    outcome(value('a'));
    outcome(value('a'));
    const restarted = new ApiKeyStore(keys.snapshot());
    restarted.setPlans([plan('small', { quota: { limit: 3 } })]);
    expect(restarted.usage('small', id, noon)).toEqual({ used: 2, remaining: 1 });
    expect(restarted.usage('small', id, noon + 86_400_000)).toEqual({ used: 0, remaining: 3 });
    expect(restarted.plansOfKey(other)).toEqual([]);
    expect(restarted.key(other).value).toBe(value('b'));
    expect(restarted.meter(value('a'), here, noon).outcome).toBe('admitted');
    expect(restarted.meter(value('a'), here, noon).outcome).toBe('exhausted');
  });
});

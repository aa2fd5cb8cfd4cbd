import type { StageFootprint } from '../../../tools/cost/stage.ts';

/** A stage with round numbers, so that a test can say what to expect. */
export const footprint: StageFootprint = {
  memory: new Map([
    ['list-pets', 1024],
    ['create-pet', 1024],
    ['get-pet', 1024],
    ['unmatched-route', 1024],
    ['authorizer', 512],
  ]),
  accessLogFormat: '{"requestId":"$context.requestId","status":"$context.status"}',
  alarmMetrics: 10,
  dashboards: 2,
  meteredMethods: 7,
  pointInTimeRecovery: true,
  logRetentionDays: 90,
};

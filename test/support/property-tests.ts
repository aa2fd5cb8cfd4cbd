import * as fc from 'fast-check';
import { howToRepeat } from './how-to-repeat.ts';

/** Setup file: a property that does not hold says how to run it again with the same values, which SEED gives. */
const { SEED: seed } = process.env;
fc.configureGlobal({
  ...(seed !== undefined && { seed: Number(seed) }),
  reporter: (details) => {
    if (!details.failed) return;
    throw new Error(`${fc.defaultReportMessage(details)}\n${howToRepeat(`SEED=${details.seed}`)}`, {
      cause: details.errorInstance,
    });
  },
});

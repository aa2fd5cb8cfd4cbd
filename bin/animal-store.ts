import { App } from 'aws-cdk-lib';
import { addStacks } from '../lib/app.ts';
import { ConfigurationError } from '../lib/configuration/context.ts';

try {
  addStacks(new App());
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error;
  // The message names the mistake; a stack trace would not help.
  console.error(error.message);
  process.exit(1);
}

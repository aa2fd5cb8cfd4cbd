import { App } from 'aws-cdk-lib';
import { addStacks } from '../lib/app.ts';
import { ConfigurationError } from '../lib/context.ts';

try {
  addStacks(new App());
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error;
  // Whoever made the mistake needs to know which, not where in our code it was noticed.
  console.error(error.message);
  process.exit(1);
}

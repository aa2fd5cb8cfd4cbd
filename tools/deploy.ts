import { spawn } from 'node:child_process';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';

/**
 * `npm run deploy:staging`: asks AWS whose credentials these are, which the CDK does only after the synthesis, then deploys
 * the stack. Further arguments go to `cdk deploy`.
 */
const { AWS_REGION: region = process.env['AWS_DEFAULT_REGION'] } = process.env;
try {
  const sts = new STSClient({ ...(region !== undefined && { region }), maxAttempts: 2 });
  const { Account: account } = await sts.send(new GetCallerIdentityCommand());
  console.log(`Account ${account}, Region ${await sts.config.region()}`);
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  console.error(
    `AWS does not accept a deployment with these credentials: ${reason}. ` +
      'Sign in, for example with "aws sso login", set AWS_PROFILE and AWS_REGION, then try again.',
  );
  process.exit(1);
}
const cdk = spawn(process.execPath, ['node_modules/aws-cdk/bin/cdk', 'deploy', ...process.argv.slice(2)], {
  stdio: 'inherit',
});
cdk.on('exit', (code) => process.exit(code ?? 1));

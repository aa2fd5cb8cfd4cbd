import { fileURLToPath } from 'node:url';
import launcher from 'dynamodb-local';
import { z } from 'zod';

/**
 * The process between the service and DynamoDB Local. It ends Java when the channel to the service closes, which also
 * happens when the service is killed.
 */

const { installPath, port, dataDirectory } = z
  .object({ installPath: z.string(), port: z.number(), dataDirectory: z.string().optional() })
  .parse(JSON.parse(process.argv[2] ?? ''));

/** The launcher takes one option, so this is a file of them. */
const javaOption = `@${fileURLToPath(new URL('java-options', import.meta.url))}`;

// Only the owner can read the data files.
process.umask(0o077);
launcher.configureInstaller({ installPath });
// The package's types lack this option.
const args: NonNullable<Parameters<typeof launcher.launch>[2]> = ['-sharedDb'];
Array.prototype.push.call(args, '-disableTelemetry');
const java = await launcher.launch(port, dataDirectory, args, false, undefined, javaOption);
process.on('disconnect', () => {
  java.kill('SIGKILL');
  process.exit();
});
java.on('exit', (code, signal) => {
  process.send?.({ ended: signal ?? `exit code ${code}` }, () => process.exit());
});
process.send?.({ pid: java.pid });

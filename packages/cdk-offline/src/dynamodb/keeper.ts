import launcher from 'dynamodb-local';
import { z } from 'zod';

/**
 * The process between the service and DynamoDB Local. It ends Java when the service is gone, however the service
 * ended: the channel between the two closes with it.
 */

const { installPath, port, dataDirectory } = z
  .object({ installPath: z.string(), port: z.number(), dataDirectory: z.string().optional() })
  .parse(JSON.parse(process.argv[2] ?? ''));

/**
 * Without Java's second compiler, which keeps a processor busy through the first minute, to serve a sixth more
 * requests afterwards.
 */
const javaOption = '-XX:TieredStopAtLevel=1';

// Data files are readable by their owner only.
process.umask(0o077);
launcher.configureInstaller({ installPath });
// The package's type has fewer options than DynamoDB Local, and its launcher adds to the array it gets.
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

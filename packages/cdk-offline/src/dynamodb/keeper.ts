import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import launcher from 'dynamodb-local';
import { z } from 'zod';

/**
 * The process between the service and DynamoDB Local. It ends Java when the channel to the service closes, which also
 * happens when the service is killed.
 */

const { installPath, port, dataDirectory, temporaryDirectory } = z
  .object({
    installPath: z.string(),
    port: z.number(),
    dataDirectory: z.string().optional(),
    temporaryDirectory: z.string(),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));

const javaOptions = `
# Without Java's second compiler, which uses one processor for the first minute.
-XX:TieredStopAtLevel=1
# Collects a small heap with less processor time than the default collector.
-XX:+UseSerialGC
# Writes no file outside of the temporary directory.
-XX:-UsePerfData
-Djava.io.tmpdir=${JSON.stringify(temporaryDirectory)}
`;
// The launcher takes one option, so this is a file of them.
const optionsFile = join(temporaryDirectory, 'java-options');
writeFileSync(optionsFile, javaOptions);

// Only the owner can read the data files.
process.umask(0o077);
launcher.configureInstaller({ installPath });
const java = await launcher.launch(port, dataDirectory, [], false, undefined, `@${optionsFile}`);
process.on('disconnect', () => java.kill('SIGKILL'));
java.on('exit', (code, signal) => {
  rmSync(temporaryDirectory, { recursive: true, force: true });
  if (process.connected) process.send?.({ ended: signal ?? `exit code ${code}` }, () => process.exit());
  else process.exit();
});
process.send?.({ pid: java.pid });

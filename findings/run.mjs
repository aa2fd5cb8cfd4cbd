import { readFile, writeFile } from 'node:fs/promises';
import { startDynamoDb } from 'cdk-offline/dynamodb';
import { format, resolveConfig } from 'prettier';
import { explore } from 'dynamodb-interleavings';
import { replay } from './replay.mjs';
import { subjects } from './subjects.mjs';

/** Explores every subject, repeats each violation on a running engine, and writes the table of README.md. */

Object.assign(process.env, { AWS_REGION: 'eu-central-1', AWS_LAMBDA_FUNCTION_NAME: 'work' });
const [, , only = ''] = process.argv;
const chosen = subjects.filter(({ library, property }) => `${library} ${property}`.includes(only));
const engine = await startDynamoDb();
const rows = new Map();
const traces = [];
try {
  for (const subject of chosen) {
    const { library, version, property, promise, issue } = subject;
    let isUsed = false;
    const report = await explore({
      ...subject,
      budget: 1_200,
      check: (history) => {
        isUsed ||= history.outcomes.every(({ status }) => status === 'fulfilled');
        return subject.check(history);
      },
    });
    if (!isUsed) throw new Error(`${library}: in every schedule a request failed.`);
    const { failure } = report;
    const repeated = failure && (await replay(engine.endpoint, subject, failure));
    const schedules = `${report.schedules}${report.isComplete ? '' : ' (not all)'}`;
    const onEngine =
      failure === undefined || repeated === failure.sentence
        ? ''
        : `, on an engine: ${repeated ?? 'it holds'}`;
    const violations = `${report.violations}${onEngine}`;
    const trace = failure ? shortTrace(failure.steps) : '';
    const known = issue && failure ? `[known](${issue})` : '';
    const cells = [`[${library}](${promise})`, 'VERSIONS', property, schedules, violations, trace, known];
    const row = `| ${cells.join(' | ')} |`;
    // Versions that behave alike share a row.
    rows.set(row, [...(rows.get(row) ?? []), version]);
    console.log(`${library} ${version}: ${property}\n  ${schedules} schedules, ${violations} violations`);
    if (failure) traces.push(`${library} ${version}: ${failure.sentence}\n${failure.trace.join('\n')}`);
  }
} finally {
  await engine.stop();
}
for (const trace of traces) console.log(`\n${trace}`);
if (only === '') {
  const head = ['library', 'version', 'property', 'schedules', 'violations', 'shortest trace', 'issue'];
  const body = [...rows].map(([row, versions]) => row.replace('VERSIONS', versions.join(', ')));
  const lines = [`| ${head.join(' | ')} |`, `|${' --- |'.repeat(head.length)}`, ...body].join('\n');
  const readme = new URL('README.md', import.meta.url);
  const [before] = (await readFile(readme, 'utf8')).split('<!-- generated -->');
  const page = `${before}<!-- generated -->\n\n${lines}\n`;
  await writeFile(readme, await format(page, { ...(await resolveConfig(readme)), parser: 'markdown' }));
}

/** The calls alone: which request, what, and what it met instead of an answer. */
function shortTrace(steps) {
  return steps
    .map(({ sender, operation, fate }) => {
      const [call] = /^[A-Z][a-z]+/.exec(operation);
      return `${call} ${sender.replace('request ', '')}${fate === 'answered' ? '' : ` (${fate})`}`;
    })
    .join(', ');
}

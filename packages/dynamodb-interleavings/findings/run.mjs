import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { explore } from 'dynamodb-interleavings';
import { startDatabase } from '../../../tools/contributors/local/database.ts';
import { replay } from './replay.mjs';
import { subjects } from './subjects/index.mjs';

/** Explores every subject, repeats each violation on a running engine, and writes the list of RESULTS.md. */

Object.assign(process.env, { AWS_REGION: 'eu-central-1', AWS_LAMBDA_FUNCTION_NAME: 'work' });
const [, , only = ''] = process.argv;
const chosen = subjects.filter(({ library, property }) => `${library} ${property}`.includes(only));
const engine = await startDatabase();
const violated = new Map();
try {
  for (const subject of chosen) {
    const { library, version, property, promise, known, isAccepted } = subject;
    let isUsed = false;
    const report = await explore({
      ...subject,
      budget: 2_000,
      check: (history) => {
        isUsed ||= history.outcomes.every(({ status }) => status === 'fulfilled');
        return subject.check(history);
      },
    });
    const { failure, violations } = report;
    if (!isUsed && !failure) throw new Error(`${library}: in every schedule a request failed.`);
    if (!failure && !report.isComplete)
      throw new Error(`${library}: ${report.schedules} schedules are not all. Raise the budget.`);
    const schedules = `${report.schedules}${report.isComplete ? '' : ' (not all)'}`;
    console.log(`\n${library} ${version}: ${property}\n  ${schedules} schedules, ${violations} violations`);
    if (failure) {
      const lines = withoutItems(failure.trace);
      console.log(`  ${failure.sentence}\n${lines.map((line) => `    ${line}`).join('\n')}`);
      const repeated = await replay(engine.endpoint, subject, failure);
      const onEngine = repeated === failure.sentence ? '' : ` On an engine: ${repeated ?? 'it holds.'}`;
      const filed = known === undefined ? '' : ` ([known](${known}))`;
      // RESULTS.md explains what is accepted.
      if (isAccepted !== true)
        add(
          `[${library}](${promise})`,
          version,
          `- **${property}** ${failure.sentence}${onEngine}${filed}\\\n  ${scheduleOf(lines)}`,
        );
    }
  }
} finally {
  await engine.stop();
}
if (only === '') await writeResults();

/** Versions that behave alike share a line. */
function add(title, version, line) {
  const found = violated.get(title + line) ?? { title, line, versions: [] };
  found.versions.push(version);
  violated.set(title + line, found);
}

/** Writes what stands between two lines of RESULTS.md. */
async function writeResults() {
  const file = new URL('RESULTS.md', import.meta.url);
  const page = await readFile(file, 'utf8');
  const nameOf = ({ title, versions }) => `${title} ${versions.join(', ')}`;
  const sections = [...Map.groupBy(violated.values(), nameOf)].map(
    ([name, of]) => `## ${name}\n\n${of.map(({ line }) => line).join('\n')}`,
  );
  const generated = /^<!-- generated .+ -->$[^]*^<!-- end -->$/m;
  if (!generated.test(page))
    throw new Error('RESULTS.md lacks the lines <!-- generated … --> and <!-- end -->.');
  const [first, last] = generated.exec(page)[0].split(/\n[^]*\n/);
  const written = page.replace(generated, () => [first, ...sections, last].join('\n\n'));
  await writeFile(file, await format(written, { ...(await resolveConfig(file)), parser: 'markdown' }));
}

/** A schedule such as `1 Query, 2 PutItem: the answer is lost`, from the lines of a trace. The calls of a request have its number. */
function scheduleOf(lines) {
  const special =
    /applied, and .+|a part of the \w+|without the last writes|\w+Exception|the process .+|[\d.]+ items?/;
  return lines
    .flatMap((line) => {
      const [, request, operation, result] =
        /^(?:\s*[\d.]+ s)? *[│ ]*(\d+)[│ ]*  (\w+) .*? → (.*?)(?:  .*)?$/.exec(line) ?? [];
      if (operation === undefined || /^item \d+ is done/.test(result)) return [];
      const [met] = special.exec(result) ?? [];
      return [`${request} ${operation}${met === undefined ? '' : ` (${met})`}`];
    })
    .join(', ');
}

/** Keeps the last line of the items of a batch, which DynamoDB gets to one after the other. */
function withoutItems(lines) {
  const isItem = (line) => /item \d+ is done$/.test(line ?? '');
  return lines.filter((line, index) => !isItem(line) || !isItem(lines[index + 1]));
}

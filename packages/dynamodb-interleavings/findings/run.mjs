import { readdir, readFile, writeFile } from 'node:fs/promises';
import { startDynamoDb } from 'cdk-offline/dynamodb';
import { format, resolveConfig } from 'prettier';
import { explore } from 'dynamodb-interleavings';
import { replay } from './replay.mjs';
import { subjects } from './subjects/index.mjs';

/**
 * Explores every subject, repeats each violation on a running engine, and writes the table of RESULTS.md and the diagrams that
 * issues/ asks for.
 */

Object.assign(process.env, { AWS_REGION: 'eu-central-1', AWS_LAMBDA_FUNCTION_NAME: 'work' });
const [, , only = ''] = process.argv;
const chosen = subjects.filter(({ library, property }) => `${library} ${property}`.includes(only));
const engine = await startDynamoDb();
const violated = new Map();
const diagrams = new Map();
try {
  for (const subject of chosen) {
    const { library, version, property, promise, issue } = subject;
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
    const title = `[${library}](${promise})`;
    if (failure) {
      console.log(
        `  ${failure.sentence}\n${withoutItems(failure.trace)
          .map((line) => `    ${line}`)
          .join('\n')}`,
      );
      const repeated = await replay(engine.endpoint, subject, failure);
      const onEngine = repeated === failure.sentence ? '' : ` On an engine: ${repeated ?? 'it holds.'}`;
      // RESULTS.md explains what is accepted.
      if (issue !== '#accepted') add(title, version, `| ${property}${onEngine} | ${linkTo(issue)} |`);
      diagrams.set(`${issue} ${property}`, shortDiagram(failure.diagram));
    }
  }
} finally {
  await engine.stop();
}
for (const file of await readdir(new URL('issues', import.meta.url))) {
  const issue = `issues/${file}`;
  for (const property of await generatedIn(issue)) {
    const isIt = (subject) => subject.issue === issue && subject.property === property;
    if (!subjects.some(isIt)) throw new Error(`${issue}: no subject has the property "${property}".`);
    if (!chosen.some(isIt)) continue;
    const diagram = diagrams.get(`${issue} ${property}`);
    if (diagram === undefined) throw new Error(`${issue}: the property "${property}" holds.`);
    await replaceGenerated(issue, property, `\`\`\`mermaid\n${diagram}\n\`\`\``);
  }
}
if (only === '') await replaceGenerated('RESULTS.md', 'violations', violationsTable());

function linkTo(issue) {
  return issue === undefined ? '' : `[${issue.startsWith('https:') ? 'known' : 'issue'}](${issue})`;
}

/** Versions that behave alike share a line. */
function add(title, version, line) {
  const found = violated.get(title + line) ?? { title, line, versions: [] };
  found.versions.push(version);
  violated.set(title + line, found);
}

/** A row for each promise. The first of a library has its name and versions. */
function violationsTable() {
  const nameOf = ({ title, versions }) => `${title} ${versions.join(', ')}`;
  const rows = [...Map.groupBy(violated.values(), nameOf)].flatMap(([name, of]) =>
    of.map(({ line }, index) => `| ${index === 0 ? name : ''} ${line}`),
  );
  return ['| Library | What should hold | Report |', '| --- | --- | --- |', ...rows].join('\n');
}

/** The names of what is generated in a page. */
async function generatedIn(path) {
  const page = await readFile(new URL(path, import.meta.url), 'utf8');
  return [...page.matchAll(/^<!-- generated: (.+) -->$/gm)].map(([, name]) => name);
}

/** Writes what stands between `<!-- generated: NAME -->` and `<!-- end -->`. */
async function replaceGenerated(path, name, text) {
  const file = new URL(path, import.meta.url);
  const page = await readFile(file, 'utf8');
  const start = `<!-- generated: ${name} -->`;
  const from = page.indexOf(start);
  if (from < 0) throw new Error(`${path} has no line ${start}`);
  const to = page.indexOf('<!-- end -->', from);
  const written = `${page.slice(0, from)}${start}\n\n${text}\n\n${page.slice(to)}`;
  await writeFile(file, await format(written, { ...(await resolveConfig(file)), parser: 'markdown' }));
}

/** Of the items of a batch, which DynamoDB gets to one after the other, the last line. */
function withoutItems(lines) {
  const isItem = (line) => /item \d+ is done$/.test(line ?? '');
  return lines.filter((line, index) => !isItem(line) || !isItem(lines[index + 1]));
}

/** The same for a diagram, in which a call and its answer are a line each. Binary values are random. */
function shortDiagram(diagram) {
  return diagram
    .replaceAll(/^(.*D: Batch.*\n).*: item \d+ is done\n(?=\1.*: item \d+ is done\n)/gm, '')
    .replaceAll(/\{B: "[^"…]*/g, '{B: "');
}

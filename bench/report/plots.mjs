import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, View } from 'vega';
import { compile } from 'vega-lite';

/** `node plots.mjs FOLDER`: draws the results.json of a folder as SVG beside it. https://vega.github.io/vega-lite/docs/ */
const [folder = '.'] = process.argv.slice(2);
const { first, load } = JSON.parse(await readFile(join(folder, 'results.json'), 'utf8'));

// Readable on light and dark pages.
const ink = '#6e7781';
const config = {
  background: 'transparent',
  title: { color: ink },
  axis: { labelColor: ink, titleColor: ink, gridOpacity: 0.25, labelLimit: 300 },
  legend: { labelColor: ink, titleColor: ink },
  header: { labelColor: ink, titleColor: ink },
  view: { stroke: null },
};

async function draw(name, spec) {
  const view = new View(parse(compile({ config, ...spec }).spec), { renderer: 'none' });
  await writeFile(join(folder, name), `${await view.toSVG()}\n`);
}

if (first !== undefined) {
  const values = first.results.functions.flatMap(({ name, memory, group, response }) =>
    Object.entries(response).map(([model, ms]) => ({ label: `${name}, ${memory} MB`, group, model, ms })),
  );
  await draw('first-response.svg', {
    title: 'Process start to first response, median (ms)',
    data: { values },
    mark: 'bar',
    encoding: {
      y: { field: 'label', type: 'nominal', sort: null, title: null },
      x: { field: 'ms', type: 'quantitative', title: 'ms' },
      color: { field: 'group', type: 'nominal', title: null },
      column: { field: 'model', type: 'nominal', title: null },
    },
  });
}

if (load !== undefined) {
  const values = load.results.steps.flatMap(({ concurrency, p50, p99 }) => [
    { concurrency, quantile: 'p50', ms: p50 },
    { concurrency, quantile: 'p99', ms: p99 },
  ]);
  await draw('load.svg', {
    title: 'The whole service on one machine',
    width: 500,
    data: { values },
    mark: { type: 'line', point: true },
    encoding: {
      x: {
        field: 'concurrency',
        type: 'quantitative',
        scale: { type: 'log', base: 2 },
        title: 'concurrent requests',
      },
      y: { field: 'ms', type: 'quantitative', title: 'latency (ms)' },
      color: { field: 'quantile', type: 'nominal', title: null },
    },
  });
}

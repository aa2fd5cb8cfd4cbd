import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, View } from 'vega';
import { compile } from 'vega-lite';

/** `node plots.mjs FOLDER`: draws the results.json of a folder as SVG in the same folder. https://vega.github.io/vega-lite/docs/ */
const [folder = '.'] = process.argv.slice(2);
const { first } = JSON.parse(await readFile(join(folder, 'results.json'), 'utf8'));

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

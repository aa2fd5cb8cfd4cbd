import { fixedPlans, planNames } from '../../../functions/access/plans.ts';
import { grouped, tableLines } from '../../operators/command-line/output.ts';
import { withKey } from '../reference/files.ts';
import { enterpriseLimits, type Keys } from './keys.ts';

interface Running {
  readonly url: string;
  readonly keys: Keys;
  readonly reload: boolean;
  /** `ws://HOST:PORT/ID` */
  readonly inspectorUrl: string | undefined;
}

/** The output of `npm start` when the service is ready. */
export function banner({ url, keys, reload, inspectorUrl }: Running): string {
  const limits = { ...fixedPlans, enterprise: enterpriseLimits };
  const number = (text: string) => text.padStart('10,000,000'.length);
  const rows = [
    ['plan', number('per minute'), number('per day'), 'API key'],
    ...planNames.map((plan) => {
      const { perMinute, perDay } = limits[plan];
      return [plan, number(grouped(perMinute)), number(grouped(perDay)), keys[plan]];
    }),
  ];
  const { port, origin } = new URL(url);
  const debuggerAddress = inspectorUrl && new URL(inspectorUrl).host;
  const notes = [
    reload && 'Changes of functions/ and lib/ are applied when you save a file.',
    debuggerAddress &&
      `Attach a debugger to ${debuggerAddress}: VS Code's launch configuration, or chrome://inspect.`,
    'Ctrl-C stops the service.',
  ].filter(Boolean);
  return `
ready ${url}

API reference: ${withKey(`${origin}/`, keys.pro)}

${tableLines(rows)
  .map((row) => `  ${row}`)
  .join('\n')}

Paste this in another terminal:

  export API=${url} KEY=${keys.pro}
  export ANIMAL_STORE_BASE_URL=$API ANIMAL_STORE_API_KEY=$KEY
  curl -i -H "Authorization: Bearer $KEY" "$API/pets?limit=2"

Then try:

  curl -i -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"name":"Rex","categoryId":7}' "$API/pets"
  SMOKE_KEY=$KEY npm run smoke -- --url "$API"
  npm run keys -- list --stage local --port ${port}

${notes.join('\n')}
`;
}

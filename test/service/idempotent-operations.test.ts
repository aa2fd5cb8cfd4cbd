import { expect, test } from 'vitest';
import { isIdempotent, operations } from '../../functions/operations.ts';
import { describeService } from '../../tools/contributors/openapi/output/document.ts';
import { rex } from './pets-tool/stored-animals.ts';
import { World } from './world.ts';

interface Described {
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json': { readonly examples?: Record<string, { value: object }> };
    };
  };
}

const idempotent = operations.filter((each) => isIdempotent(each));

test.each(idempotent.map(({ entry, method, path }) => ({ entry, method, path })))(
  '$entry is idempotent in functions/operations.ts: a repeated request with its Idempotency-Key writes nothing',
  async ({ method, path }) => {
    const { paths } = describeService() as unknown as { paths: Record<string, Record<string, Described>> };
    const { requestBody } = paths[path]![method.toLowerCase()]!;
    const [example] = Object.values(requestBody?.content['application/json'].examples ?? {});
    const world = new World({ isChecked: false });
    world.put('pets', rex);
    const key = world.key('free');
    const send = (idempotencyKey: string) =>
      world.send(key, `${method} ${path.replaceAll(/\{\w+\}/g, String(rex.id))}`, {
        idempotencyKey,
        ...(example !== undefined && { body: JSON.stringify(example.value) }),
      });
    const first = await send('one');
    expect(first.status).toBeLessThan(300);
    const stored = JSON.stringify(world.tables.items('Pets'), (_, value: unknown) => String(value));
    const again = await send('one');
    expect(again).toMatchObject({ status: first.status, text: first.text });
    expect(again.headers).toMatchObject({ 'Idempotency-Replayed': 'true' });
    expect(JSON.stringify(world.tables.items('Pets'), (_, value: unknown) => String(value))).toBe(stored);
    const other = await send('two');
    expect(other.headers).not.toHaveProperty('Idempotency-Replayed');
  },
);

test('creations are among them', () => {
  expect(idempotent.map(({ entry }) => entry)).toContain('create-pet');
});

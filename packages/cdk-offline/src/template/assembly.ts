import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Json } from './intrinsics.ts';
import { unsupported } from './schema.ts';

/**
 * The template and the assets of one stack in a cloud assembly, which `cdk synth` writes.
 *
 * https://github.com/aws/aws-cdk-cli/blob/main/packages/%40aws-cdk/cloud-assembly-schema/README.md
 */
export interface Assembly {
  readonly template: Template;
  /** By the object key in the template. */
  readonly assets: ReadonlyMap<string, Asset>;
}

export interface Asset {
  readonly path: string;
  readonly packaging: 'zip' | 'file';
}

const json: z.ZodType<Json> = z.json();
const section = z.record(z.string(), json).default({});

const resource = z.object({
  Type: z.string(),
  Properties: section,
  Metadata: z.record(z.string(), json).optional(),
  Condition: z.string().optional(),
});
export type TemplateResource = z.infer<typeof resource>;

const template = z.object({
  Parameters: z.record(z.string(), z.object({ Type: z.string(), Default: json.optional() })).default({}),
  Mappings: z.record(z.string(), z.record(z.string(), z.record(z.string(), json))).default({}),
  Conditions: section,
  Resources: z.record(z.string(), resource),
  Outputs: z.record(z.string(), z.object({ Value: json, Condition: z.string().optional() })).default({}),
  Transform: unsupported('transforms are'),
});
export type Template = z.infer<typeof template>;

const assetManifest = z.object({
  files: z
    .record(
      z.string(),
      z.object({
        source: z.object({ path: z.string().optional(), packaging: z.enum(['zip', 'file']).default('file') }),
        destinations: z.record(z.string(), z.object({ objectKey: z.string() })),
      }),
    )
    .default({}),
});

/** @throws Error naming the file that is missing or malformed */
export async function readAssembly(directory: string, stackName: string): Promise<Assembly> {
  const { files } = await readJson(join(directory, `${stackName}.assets.json`), assetManifest);
  const assets = new Map<string, Asset>();
  for (const { source, destinations } of Object.values(files)) {
    if (source.path === undefined) continue;
    const asset = { path: join(directory, source.path), packaging: source.packaging };
    for (const { objectKey } of Object.values(destinations)) assets.set(objectKey, asset);
  }
  return { template: await readJson(join(directory, `${stackName}.template.json`), template), assets };
}

async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} cannot be read: run "cdk synth" first`, { cause: error });
  }
  const parsed = schema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(`${path} is not supported:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

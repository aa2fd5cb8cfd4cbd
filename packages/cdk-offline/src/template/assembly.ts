import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import type { Json } from './intrinsics.ts';
import { unsupported } from './schema.ts';

/**
 * Stacks of a cloud assembly, which `cdk synth` writes.
 *
 * https://github.com/aws/aws-cdk-cli/blob/main/packages/%40aws-cdk/cloud-assembly-schema/README.md
 */
export interface Assembly {
  readonly stack: AssembledStack;
  /** The other stacks of the same app and stage. */
  readonly siblings: readonly AssembledStack[];
  /** The templates of nested stacks, by the object key in the URL. */
  readonly nested: ReadonlyMap<string, Template>;
  /** The assets of all these stacks by the object key in the template. */
  readonly assets: ReadonlyMap<string, Asset>;
}

export interface AssembledStack {
  /** The name in CloudFormation. */
  readonly name: string;
  readonly template: Template;
  /** Values for parameters that name assets, which the legacy synthesizer writes. */
  readonly assetParameters: Readonly<Record<string, string>>;
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
  Outputs: z
    .record(
      z.string(),
      z.object({
        Value: json,
        Condition: z.string().optional(),
        Export: z.object({ Name: json }).optional(),
      }),
    )
    .default({}),
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

const manifest = z.object({
  artifacts: z
    .record(
      z.string(),
      z.object({
        type: z.string(),
        displayName: z.string().optional(),
        properties: z
          .object({
            templateFile: z.string().optional(),
            stackName: z.string().optional(),
            directoryName: z.string().optional(),
            file: z.string().optional(),
          })
          .default({}),
        metadata: z.record(z.string(), z.array(z.unknown())).default({}),
      }),
    )
    .default({}),
});

/** An asset of the legacy synthesizer, in the metadata of a stack. */
const legacyAsset = z.object({
  type: z.literal('aws:cdk:asset'),
  data: z.object({
    path: z.string(),
    id: z.string(),
    packaging: z.enum(['zip', 'file']),
    s3BucketParameter: z.string(),
    s3KeyParameter: z.string(),
    artifactHashParameter: z.string(),
  }),
});

/** A stack in a manifest. */
interface StackArtifact {
  readonly id: string;
  /** As `cdk ls` shows it. */
  readonly displayName: string;
  readonly stackName: string;
  readonly template: string;
  /** Of the app, or of one of its stages. */
  readonly directory: string;
  readonly legacyAssets: readonly z.infer<typeof legacyAsset>['data'][];
}

/**
 * @param wanted the stack's artifact ID, its path as `cdk ls` shows it, or its name; the only one with a REST API when absent
 * @throws Error naming the file that is missing or malformed, or the stacks of the assembly
 */
export async function readAssembly(directory: string, wanted: string | undefined): Promise<Assembly> {
  const { stacks, assetFiles } = await readManifest(directory);
  const read = await Promise.all(assetFiles.map((path) => readAssets(path)));
  const assets = new Map([...read.flatMap((one) => [...one]), ...stacks.flatMap(legacyAssetsOf)]);
  const nested = [...assets].filter(([, { path }]) => path.endsWith('.nested.template.json'));
  const found =
    wanted === undefined ? await onlyStack(stacks, nested, directory) : findStack(stacks, wanted, directory);
  const others = stacks.filter((one) => one !== found && one.directory === found.directory);
  return {
    stack: await readStack(found),
    siblings: await readable(others.map((stack) => readStack(stack))),
    nested: new Map(
      await readable(nested.map(async ([key, { path }]) => [key, await readJson(path, template)] as const)),
    ),
    assets,
  };
}

/** The stacks and asset manifests of an app and of its stages, which have assemblies of their own. */
async function readManifest(
  directory: string,
): Promise<{ readonly stacks: readonly StackArtifact[]; readonly assetFiles: readonly string[] }> {
  const { artifacts } = await readJson(join(directory, 'manifest.json'), manifest);
  const all = Object.entries(artifacts);
  const nested = await Promise.all(
    all.flatMap(([, { type, properties }]) =>
      type === 'cdk:cloud-assembly' && properties.directoryName !== undefined
        ? [readManifest(join(directory, properties.directoryName))]
        : [],
    ),
  );
  const stacks = all.flatMap(([id, { type, displayName = id, properties, metadata }]) =>
    type === 'aws:cloudformation:stack' && properties.templateFile !== undefined
      ? [
          {
            id,
            displayName,
            stackName: properties.stackName ?? id,
            template: join(directory, properties.templateFile),
            directory,
            legacyAssets: Object.values(metadata)
              .flat()
              .flatMap((entry) => legacyAsset.safeParse(entry).data?.data ?? []),
          },
        ]
      : [],
  );
  const assetFiles = all.flatMap(([, { type, properties }]) =>
    type === 'cdk:asset-manifest' && properties.file !== undefined ? [join(directory, properties.file)] : [],
  );
  return {
    stacks: [...stacks, ...nested.flatMap((one) => one.stacks)],
    assetFiles: [...assetFiles, ...nested.flatMap((one) => one.assetFiles)],
  };
}

/** The stack with a REST API, or the only one, which says what else it has. */
async function onlyStack(
  stacks: readonly StackArtifact[],
  nested: readonly (readonly [key: string, asset: Asset])[],
  directory: string,
): Promise<StackArtifact> {
  const containsApi = async (path: string): Promise<boolean> => {
    const text = await readText(path);
    if (/"AWS::ApiGateway::RestApi"/.test(text)) return true;
    // The URL of a nested template ends with its key, and a parameter of the legacy synthesizer has its hash.
    const inside = nested.filter(([key]) => text.includes(key.replace(/^.*\/|\.\w+$/g, '')));
    return (await Promise.all(inside.map(([, asset]) => containsApi(asset.path)))).includes(true);
  };
  const hasApi = await Promise.all(stacks.map(({ template: path }) => containsApi(path)));
  const withApi = stacks.filter((_, index) => hasApi[index]);
  const [found, ...others] = withApi.length === 0 ? stacks : withApi;
  if (found !== undefined && others.length === 0) return found;
  throw new Error(
    withApi.length === 0
      ? `${directory} has no stack with a REST API, and HTTP APIs and Function URLs are not supported. It has: ${namesOf(stacks)}.`
      : `${directory} has several stacks with a REST API. Choose one with --stack: ${namesOf(withApi)}.`,
  );
}

function namesOf(stacks: readonly StackArtifact[]): string {
  return stacks.map(({ displayName }) => displayName).join(', ') || 'no stack';
}

function findStack(stacks: readonly StackArtifact[], wanted: string, directory: string): StackArtifact {
  for (const key of ['id', 'displayName', 'stackName'] as const) {
    const found = stacks.filter((one) => one[key] === wanted);
    if (found[0] !== undefined && found.length === 1) return found[0];
  }
  throw new Error(`${directory} has no stack ${wanted}, or several. It has: ${namesOf(stacks)}.`);
}

async function readStack({
  stackName,
  template: path,
  legacyAssets,
}: StackArtifact): Promise<AssembledStack> {
  const parameters = legacyAssets.flatMap((asset) => [
    [asset.s3BucketParameter, 'assets'],
    // The template joins the two parts.
    [asset.s3KeyParameter, `${legacyPrefix}||${asset.id}.zip`],
    [asset.artifactHashParameter, asset.id],
  ]);
  return {
    name: stackName,
    template: await readJson(path, template),
    assetParameters: Object.fromEntries(parameters),
  };
}

const legacyPrefix = 'legacy/';

function legacyAssetsOf({
  directory,
  legacyAssets,
}: StackArtifact): (readonly [key: string, asset: Asset])[] {
  return legacyAssets.map(({ id, path, packaging }) => [
    `${legacyPrefix}${id}.zip`,
    { path: resolve(directory, path), packaging },
  ]);
}

/** Without the templates that are not supported: nothing of them is used. */
async function readable<T>(reading: readonly Promise<T>[]): Promise<T[]> {
  const read = await Promise.allSettled(reading);
  return read.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}

async function readAssets(path: string): Promise<ReadonlyMap<string, Asset>> {
  const { files } = await readJson(path, assetManifest);
  const assets = new Map<string, Asset>();
  for (const { source, destinations } of Object.values(files)) {
    if (source.path === undefined) continue;
    // The path may be absolute.
    const asset = { path: resolve(dirname(path), source.path), packaging: source.packaging };
    for (const { objectKey } of Object.values(destinations)) assets.set(objectKey, asset);
  }
  return assets;
}

async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  const parsed = schema.safeParse(JSON.parse(await readText(path)));
  if (!parsed.success) throw new Error(`${path} is not supported:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} cannot be read: run "cdk synth" first`, { cause: error });
  }
}

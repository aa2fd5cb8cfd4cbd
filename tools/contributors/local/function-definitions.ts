import { devNull } from 'node:os';
import { join } from 'node:path';
import { region, type Stack } from './template.ts';

/** A function of the template. */
export interface FunctionDefinition {
  /** Of its alias. */
  readonly arn: string;
  /** The name of its file, such as `get-pet`. */
  readonly label: string;
  readonly file: string;
  readonly handler: string;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  readonly variables: Readonly<Record<string, string>>;
}

/** @param local the address of the API for its address on AWS */
export function functionsOf(stack: Stack, local: (text: string) => string): FunctionDefinition[] {
  const aliases = stack.resources('AWS::Lambda::Alias');
  return stack.resources('AWS::Lambda::Function').map(({ id: name, properties }) => {
    const { Code, Environment, Handler, LoggingConfig, MemorySize, Runtime, Timeout } = properties;
    const [label = '', handler = ''] = Handler.split('.');
    const folder = join(stack.folder, `asset.${Code.S3Key.replace(/\.zip$/, '')}`);
    const own = Object.entries(Environment.Variables).map(([key, value]) => [key, local(value)]);
    return {
      arn: aliases.find(({ properties: { FunctionName } }) => FunctionName === name)?.id ?? name,
      label,
      file: join(folder, `${label}.mjs`),
      handler,
      timeoutMs: Timeout * 1000,
      memoryMb: MemorySize,
      // https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
      variables: {
        LANG: 'en_US.UTF-8',
        TZ: ':UTC',
        PATH: '/var/lang/bin:/usr/local/bin:/usr/bin/:/bin:/opt/bin',
        AWS_XRAY_CONTEXT_MISSING: 'LOG_ERROR',
        ...(Object.fromEntries(own) as Record<string, string>),
        _HANDLER: Handler,
        LAMBDA_TASK_ROOT: folder,
        AWS_REGION: region,
        AWS_DEFAULT_REGION: region,
        AWS_EXECUTION_ENV: `AWS_Lambda_${Runtime}`,
        // No settings or credentials of this machine.
        AWS_CONFIG_FILE: devNull,
        AWS_SHARED_CREDENTIALS_FILE: devNull,
        AWS_EC2_METADATA_DISABLED: 'true',
        AWS_LAMBDA_FUNCTION_NAME: name,
        AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(MemorySize),
        AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
        AWS_LAMBDA_LOG_FORMAT: LoggingConfig.LogFormat,
        AWS_LAMBDA_LOG_LEVEL: LoggingConfig.ApplicationLogLevel,
        AWS_LAMBDA_LOG_GROUP_NAME: LoggingConfig.LogGroup,
        AWS_LAMBDA_LOG_STREAM_NAME: `${new Date().toISOString().slice(0, 10).replaceAll('-', '/')}/[$LATEST]local`,
      },
    };
  });
}

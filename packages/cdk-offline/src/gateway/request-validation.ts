import { type AnySchema, Ajv, type Options, type ValidateFunction } from 'ajv';
import draft04 from 'ajv-draft-04';
import { TemplateError } from '../template/intrinsics.ts';
import {
  type GatewayError,
  type GatewayResponseInput,
  gatewayErrors,
  mappedValue,
} from './gateway-responses.ts';

/**
 * What a request validator checks of the requests to a method.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-method-request-validation.html
 */
export interface RequestValidation {
  /** Such as `method.request.querystring.page`. */
  readonly requiredParameters: readonly string[];
  /** By media type, or `$default`. A body of another type is not checked. */
  readonly bodies: ReadonlyMap<string, ValidateFunction>;
}

/** The error of a request that the validator rejects. */
export function validateRequest(
  { requiredParameters, bodies }: RequestValidation,
  body: string,
  input: GatewayResponseInput,
): GatewayError | undefined {
  const missing = requiredParameters.filter((source) => (mappedValue(source, input) ?? '').trim() === '');
  if (missing.length > 0) {
    const names = missing.map((source) => source.replace(/^method\.request\.\w+\./, ''));
    const message = `Missing required request parameters: [${names.toSorted().join(', ')}]`;
    return { ...gatewayErrors.badRequestParameters, message };
  }
  const type = input.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? 'application/json';
  const validate = bodies.get(type) ?? bodies.get('$default');
  const problem = validate && problemOf(body, validate);
  return problem === undefined ? undefined : { ...gatewayErrors.badRequestBody, validation: `[${problem}]` };
}

/** An empty body is checked as an empty object. */
function problemOf(body: string, validate: ValidateFunction): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body === '' ? '{}' : body);
  } catch {
    return 'the body is not valid JSON';
  }
  if (validate(value)) return undefined;
  return validate.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`.trim()).join(', ');
}

export interface Model {
  /** As methods name it: its ID in the stack, or its name. */
  readonly names: readonly string[];
  readonly schema: AnySchema;
}

/** Regular expressions are Java's, and formats are not checked. */
const options = {
  strict: false,
  validateSchema: false,
  validateFormats: false,
  unicodeRegExp: false,
  allErrors: true,
  logger: false,
} as const satisfies Options;

/** The models of an API, which may refer to each other by their URLs. */
export class Models {
  readonly #models: readonly Model[];
  readonly #draft04 = new draft04.default(options);
  readonly #draft07 = new Ajv(options);

  constructor(apiId: string, models: readonly Model[]) {
    this.#models = [...models, ...builtIn];
    for (const { names, schema } of models) {
      for (const name of names) {
        const url = `https://apigateway.amazonaws.com/restapis/${apiId}/models/${name}`;
        for (const ajv of [this.#draft04, this.#draft07]) ajv.addSchema(schema, url);
      }
    }
  }

  /** @throws TemplateError when there is no such model, or its schema cannot be used */
  validator(name: string): ValidateFunction {
    const schema = this.#models.find(({ names }) => names.includes(name))?.schema;
    if (schema === undefined) throw new TemplateError(`the API has no model ${name}`);
    // API Gateway uses draft 4; the CDK can also write draft 7.
    const isNewer = typeof schema === 'object' && /draft-0[67]/.test(String(schema['$schema']));
    try {
      return (isNewer ? this.#draft07 : this.#draft04).compile(schema);
    } catch (error) {
      throw new TemplateError(`the model ${name} is not supported by cdk-offline: ${String(error)}`, {
        cause: error,
      });
    }
  }
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/models-mappings-models.html */
const builtIn: readonly Model[] = [
  { names: ['Empty'], schema: {} },
  { names: ['Error'], schema: { type: 'object', properties: { message: { type: 'string' } } } },
];

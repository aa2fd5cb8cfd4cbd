import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface Alias {
  version: number;
  description: string;
  weights: Record<string, number>;
}

interface Stored {
  /** When each version was published. Those of failed deployments stay, although CloudFormation deletes them. */
  readonly published: Date[];
  readonly aliases: Map<string, Alias>;
  /** Versions that somebody deleted. */
  readonly deleted: Set<number>;
  /** The version in the stack's template. */
  inStack: number;
}

const errorTypes: Readonly<Record<number, string>> = {
  409: 'ResourceConflictException',
  412: 'PreconditionFailedException',
};

interface Event {
  readonly at: Date;
  readonly type: string;
  readonly id: string;
  readonly status: string;
  readonly properties?: object;
}

const stackId = 'arn:aws:cloudformation:eu-central-1:123456789012:stack/AnimalStore-prod/1';
const arnOf = (name: string, qualifier: string | number): string =>
  `arn:aws:lambda:eu-central-1:123456789012:function:${name}:${qualifier}`;

/**
 * A deployed stage: CloudFormation and Lambda, as far as the versions tool calls them, and the deployments that change it. As on
 * AWS, CloudFormation changes an alias only when its template has another version, and a failed deployment restores the
 * version of the previous template.
 */
export class Stage {
  readonly functions = new Map<string, Stored>();
  /** Newest first. */
  events: Event[] = [];
  /** The calls of Lambda that change something. */
  readonly changes: string[] = [];
  /** Ends the run at this change. */
  failAt = Infinity;
  /** Makes this change, and answers it with an error. */
  loseAnswerOf = Infinity;
  #minutes = 0;

  /** Ten minutes later than the last time. */
  time(): Date {
    this.#minutes += 10;
    return new Date(Date.UTC(2030, 0, 1, 0, this.#minutes));
  }

  live(): Record<string, number> {
    return Object.fromEntries(
      [...this.functions].map(([name, { aliases }]) => [name, aliases.get('live')!.version]),
    );
  }

  create(...names: string[]): void {
    this.#stack('CREATE_IN_PROGRESS');
    for (const name of names) {
      const live = { version: 1, description: '', weights: {} };
      this.functions.set(name, {
        published: [this.time()],
        aliases: new Map([['live', live]]),
        deleted: new Set(),
        inStack: 1,
      });
      this.#alias(name, 'CREATE_IN_PROGRESS', 1);
      this.#alias(name, 'CREATE_COMPLETE', 1);
    }
    this.#stack('CREATE_COMPLETE');
  }

  /** Deploys a new version of each function; of none, as a change of a dashboard does. Returns when it ended. */
  deploy(...names: string[]): Date {
    this.#stack('UPDATE_IN_PROGRESS');
    for (const name of names) this.#move(name, this.#publish(name), 'UPDATE_COMPLETE');
    const at = this.#stack('UPDATE_COMPLETE_CLEANUP_IN_PROGRESS');
    this.#stack('UPDATE_COMPLETE');
    return at;
  }

  /** A new version of the last function is refused by its check. The others were live for minutes, and go back. */
  failToDeploy(...names: string[]): void {
    this.#stack('UPDATE_IN_PROGRESS');
    const before = names.map((name) => [name, this.functions.get(name)!.inStack] as const);
    for (const name of names.slice(0, -1)) this.#move(name, this.#publish(name), 'UPDATE_COMPLETE');
    const refused = names.at(-1)!;
    this.#alias(refused, 'UPDATE_FAILED', this.#publish(refused));
    this.#stack('UPDATE_ROLLBACK_IN_PROGRESS');
    for (const [name, version] of before) this.#move(name, version, 'UPDATE_COMPLETE');
    this.#stack('UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS');
    this.#stack('UPDATE_ROLLBACK_COMPLETE');
  }

  /** `cdk deploy --revert-drift`: brings every alias to the version of its template. */
  deployWithRevertDrift(...names: string[]): void {
    this.#stack('UPDATE_IN_PROGRESS');
    for (const name of names) this.#publish(name, true);
    for (const [name, { aliases, inStack }] of this.functions) {
      if (aliases.get('live')!.version !== inStack) this.#move(name, inStack, 'UPDATE_COMPLETE');
    }
    this.#stack('UPDATE_COMPLETE');
  }

  begin(): void {
    this.#stack('UPDATE_IN_PROGRESS');
  }

  #publish(name: string, intoStack = false): number {
    const stored = this.functions.get(name)!;
    const version = stored.published.push(this.time());
    if (intoStack) stored.inStack = version;
    return version;
  }

  #move(name: string, version: number, status: string): void {
    const stored = this.functions.get(name)!;
    this.#alias(name, 'UPDATE_IN_PROGRESS', version);
    stored.inStack = version;
    stored.aliases.get('live')!.version = version;
    this.#alias(name, status, version);
  }

  #alias(name: string, status: string, version: number): void {
    const properties = { FunctionName: name, FunctionVersion: String(version), Name: 'live' };
    const id = status === 'CREATE_IN_PROGRESS' ? '' : arnOf(name, 'live');
    this.events.unshift({ at: this.time(), type: 'AWS::Lambda::Alias', id, status, properties });
  }

  #stack(status: string): Date {
    const at = this.time();
    this.events.unshift({ at, type: 'AWS::CloudFormation::Stack', id: stackId, status });
    return at;
  }

  /** Starts to answer on a port of this machine. */
  async listen(): Promise<{ readonly url: string; readonly close: () => void }> {
    const server = createServer((request, response) => {
      void this.#serve(request).then(({ status = 200, body }) => {
        const errorType = errorTypes[status];
        if (errorType !== undefined) response.setHeader('X-Amzn-ErrorType', errorType);
        response.writeHead(status).end(body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      close: () => server.close(),
    };
  }

  async #serve(request: IncomingMessage): Promise<{ status?: number; body: string }> {
    const body = await text(request);
    const parameters = new URLSearchParams(body);
    const action = parameters.get('Action');
    if (action !== null)
      return { body: this.#cloudFormation(action, Number(parameters.get('NextToken') ?? 0)) };
    const [path = ''] = request.url!.split('?');
    const [, , , name = '', part, alias = ''] = path.split('/');
    const stored = this.functions.get(name)!;
    if (part === 'versions') {
      const all = stored.published.map((at, index) => ({
        Version: String(index + 1),
        LastModified: at.toISOString().replace('Z', '+0000'),
      }));
      const versions = all.filter(({ Version }) => !stored.deleted.has(Number(Version)));
      return { body: JSON.stringify({ Versions: [{ Version: '$LATEST', LastModified: '' }, ...versions] }) };
    }
    const json = (each: string) => {
      const { version, description, weights } = stored.aliases.get(each)!;
      return {
        Name: each,
        FunctionVersion: String(version),
        Description: description,
        RevisionId: `revision-of-${version}`,
        RoutingConfig: { AdditionalVersionWeights: weights },
      };
    };
    if (request.method === 'GET' && alias !== '') return { body: JSON.stringify(json(alias)) };
    if (request.method === 'GET')
      return { body: JSON.stringify({ Aliases: [...stored.aliases.keys()].map((each) => json(each)) }) };
    this.changes.push(`${request.method} ${name} ${alias}`.trim());
    if (this.changes.length >= this.failAt) return { status: 400, body: '{"message":"The run ends here"}' };
    const answer = this.#change(stored, request.method!, alias, body === '' ? {} : JSON.parse(body), json);
    return this.changes.length === this.loseAnswerOf ? { status: 503, body: '{"message":"lost"}' } : answer;
  }

  #change(
    { aliases }: Stored,
    method: string,
    path: string,
    given: Readonly<Record<string, string>>,
    json: (alias: string) => object,
  ): { status?: number; body: string } {
    const alias = path === '' ? given['Name']! : path;
    if (method === 'DELETE') {
      aliases.delete(alias);
      return { status: 204, body: '' };
    }
    const present = aliases.get(alias);
    if (method === 'POST' && present !== undefined) return { status: 409, body: '{"message":"exists"}' };
    if (given['RevisionId'] !== undefined && given['RevisionId'] !== `revision-of-${present?.version}`)
      return { status: 412, body: '{"message":"RevisionId"}' };
    const { FunctionVersion: version, Description: description = present?.description ?? '' } = given;
    aliases.set(alias, { version: Number(version), description, weights: present?.weights ?? {} });
    return { status: method === 'POST' ? 201 : 200, body: JSON.stringify(json(alias)) };
  }

  #cloudFormation(action: string, from: number): string {
    const xml = (inner: string): string =>
      `<${action}Response xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><${action}Result>${inner}</${action}Result></${action}Response>`;
    const member = (fields: Record<string, string>): string =>
      `<member>${Object.entries(fields)
        .map(([key, value]) => `<${key}>${value}</${key}>`)
        .join('')}</member>`;
    if (action === 'DescribeStacks')
      return xml(`<Stacks>${member({ StackName: 'AnimalStore-prod' })}</Stacks>`);
    if (action === 'ListStackResources') {
      const resource = (ResourceType: string, PhysicalResourceId: string): string =>
        member({ ResourceType, PhysicalResourceId, ResourceStatus: 'UPDATE_COMPLETE' });
      const members = [...this.functions].flatMap(([name, { inStack }]) => [
        resource('AWS::Lambda::Alias', arnOf(name, 'live')),
        resource('AWS::Lambda::Version', arnOf(name, inStack)),
      ]);
      const other = resource('AWS::SNS::Topic', 'x');
      return xml(`<StackResourceSummaries>${other}${members.join('')}</StackResourceSummaries>`);
    }
    const page = this.events.slice(from, from + 5).map(({ at, type, id, status, properties }) =>
      member({
        StackId: stackId,
        EventId: String(at.getTime()),
        StackName: 'AnimalStore-prod',
        ResourceType: type,
        PhysicalResourceId: id,
        ResourceStatus: status,
        Timestamp: at.toISOString(),
        ...(properties && { ResourceProperties: JSON.stringify(properties) }),
      }),
    );
    const next = from + 5 < this.events.length ? `<NextToken>${from + 5}</NextToken>` : '';
    return xml(`<StackEvents>${page.join('')}</StackEvents>${next}`);
  }
}

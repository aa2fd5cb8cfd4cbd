import dns from 'node:dns';

/** https://docs.aws.amazon.com/general/latest/gr/rande.html */
const awsHost = /(?:^|\.)(?:amazonaws\.(?:com|com\.cn|eu)|api\.aws|aws\.dev)\.?$/i;

/**
 * Rejects connections of this thread or process to AWS. SDK clients get local endpoints by environment variables; this
 * covers what does not read them, such as version 2 of the SDK and addresses in the code.
 */
export function keepFromAws(): void {
  const { lookup } = dns;
  const guarded = (hostname: string, ...rest: readonly unknown[]): void => {
    const callback = rest.at(-1);
    if (awsHost.test(hostname) && typeof callback === 'function') {
      const message = `${hostname} belongs to AWS, and cdk-offline lets no function call AWS`;
      const error = Object.assign(new Error(message), { code: 'ENOTFOUND', hostname });
      process.nextTick(() => callback(error));
    } else {
      Reflect.apply(lookup, dns, [hostname, ...rest]);
    }
  };
  Object.assign(dns, { lookup: Object.assign(guarded, lookup) });
}

/** The `engines` of package.json, which npm does not enforce. @throws Error naming the version that is needed */
export function requireNode(): void {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 15)) return;
  throw new Error(`cdk-offline needs Node.js 22.15 or later (this is ${node}).`);
}

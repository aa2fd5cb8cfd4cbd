/** Changes that cannot be applied to a running service, one in each line. */
export class RestartNeeded extends Error {
  override readonly name = 'RestartNeeded';
}

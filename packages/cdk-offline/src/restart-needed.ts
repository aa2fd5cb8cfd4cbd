/** A change that cannot be applied to a running service. */
export class RestartNeeded extends Error {
  override readonly name = 'RestartNeeded';
}

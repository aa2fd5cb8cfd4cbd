/** A published version of a function. */
export interface Version {
  readonly number: number;
  readonly published: Date;
}

/** A function behind the alias `live`. */
export interface LiveFunction {
  readonly name: string;
  /** The version that `live` points to. */
  readonly live: number;
  /** Whether `live` divides requests between two versions, as during a deployment. */
  readonly isDivided: boolean;
  /** The alias's, so that a change in between is noticed. */
  readonly revisionId: string;
  readonly versions: readonly Version[];
}

export interface Move {
  readonly target: LiveFunction;
  /** The version that `live` is to point to: the one it points to, or an earlier one. */
  readonly to: number | undefined;
}

/**
 * The version of each function that was the newest before `time`. `to` is `undefined` if a function has none: it did not
 * exist, or its versions were deleted.
 */
export function versionsBefore(functions: readonly LiveFunction[], time: Date): Move[] {
  return functions.map((target) => {
    const earlier = target.versions.filter(
      ({ number, published }) => published < time && number <= target.live,
    );
    const newest = earlier.reduce((highest, { number }) => Math.max(highest, number), 0);
    return { target, to: newest === 0 ? undefined : newest };
  });
}

/** `mark`: a write, as whoever reads a whole table or partition sees it. Marks do not depend on each other. */
export type Access = 'read' | 'write' | 'mark';

/** What a step reads and writes: items, partitions, tables, and what else requests share, each by a name. */
export class Footprint {
  readonly #accesses = new Map<string, Access>();

  add(name: string, access: Access): void {
    const before = this.#accesses.get(name) ?? access;
    this.#accesses.set(name, before === access ? access : 'write');
  }

  include(other: Footprint): this {
    for (const [name, access] of other.#accesses) this.add(name, access);
    return this;
  }

  /** Whether it has a read of one of these. */
  reads(...names: readonly string[]): boolean {
    return names.some((name) => this.#accesses.get(name) === 'read');
  }

  /** Whether the order of two steps can make a difference. */
  dependsOn(other: Footprint): boolean {
    for (const [name, access] of this.#accesses) {
      const theirs = other.#accesses.get(name);
      if (theirs !== undefined && (theirs !== access || access === 'write')) return true;
    }
    return false;
  }
}

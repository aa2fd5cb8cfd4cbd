/** `free` becomes `Free`, `list-pets` becomes `ListPets`: the case of logical IDs. */
export function titleCase(name: string): string {
  return name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** `free` as `Free`, `list-pets` as `ListPets`: how CloudFormation's own names are written. */
export function titleCase(name: string): string {
  return name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

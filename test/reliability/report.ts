/** Prints what a check measured, in one line. */
export function report(check: string, figures: object): void {
  process.stdout.write(`${JSON.stringify({ check, at: new Date().toISOString(), ...figures })}\n`);
}

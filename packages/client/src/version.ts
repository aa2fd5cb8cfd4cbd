/** Of the package. `build.mjs` writes it into the manifest. */
export const version = '1.0.0';

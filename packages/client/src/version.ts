/** The version of the package. The build writes it into the manifest. */
export const version = '1.0.0';

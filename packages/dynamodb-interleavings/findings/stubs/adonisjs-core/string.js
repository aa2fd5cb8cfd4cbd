/** Durations: here, all are given in seconds. */
export default { seconds: { parse: Number } };

/**
 * Makes an error that is a machine's answer. Whoever gets it goes by its kind and its words; where in the
 * simulator it was made nobody asks, and finding that out, through every await, takes longer than the call.
 */
export function withoutStack<E extends Error>(make: () => E): E {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

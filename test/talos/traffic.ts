// Real clusters get the traffic that the demo's lab gets.
export * from '../../internal/lab/demo/traffic.ts';

/**
 * When an attempt of a client counts as failed in the suites of one test run, in
 * milliseconds: two clusters share the processors there, and an answer that is late
 * because of the other one is no fault of what is judged. How late they were is printed.
 */
export const BUSY_ATTEMPT_MS = 10_000;

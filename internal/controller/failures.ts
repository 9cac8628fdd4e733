import { saysTheSame } from './report.ts';

/** How often the same call has failed in a row. */
export interface Failures {
  text: string;
  count: number;
}

/** Counts one more failure, and says how many there were in a row: seconds that a message counts make it no other one. */
export function countFailure(failures: Failures, message: string): number {
  failures.count = saysTheSame(failures.text, message) ? failures.count + 1 : 1;
  failures.text = message;
  return failures.count;
}

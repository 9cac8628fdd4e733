import { describe, expect, it } from 'vitest';
import { configStageOf } from './observation.ts';

describe('the configuration of a machine', () => {
  it.each([
    ['Pending', 'Before'],
    ['Accepting', 'Accepting'],
    ['AwaitingCredentials', 'Accepting'],
    ['Issuing', 'Issuing'],
    ['Dropping', 'Dropping'],
    ['Finalizing', 'Dropping'],
    ['Done', 'Dropping'],
  ] as const)('in %s is that of %s', (stage, expected) => {
    expect(configStageOf(stage)).toBe(expected);
  });
});

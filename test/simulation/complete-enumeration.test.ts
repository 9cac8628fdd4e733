import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, inject, it, vi } from 'vitest';
import type { Score } from './enumerate.ts';
import type { EnumerationEnd } from './enumeration-beside.ts';

/** Longer than the enumeration may take, ms. */
const PATIENCE_MS = 5_700_000;

describe('the complete enumeration', () => {
  it('breaks nothing, and every fault that was planned has happened', { timeout: PATIENCE_MS }, async () => {
    const path = inject('enumerationEnd');
    await vi.waitFor(() => expect(existsSync(path)).toBe(true), { timeout: PATIENCE_MS, interval: 500 });

    const { code, output } = JSON.parse(readFileSync(path, 'utf8')) as EnumerationEnd;

    console.info(`enumeration: ${output.trimEnd().split('\n').at(-1)}`);
    expect(code, output).toBe(0);
    const { plans, fired, endedEarly } = JSON.parse(output) as Pick<Score, 'plans' | 'fired' | 'endedEarly'>;
    if (endedEarly) console.warn('enumeration: this computer had no time for the rest of the half of 3+2');
    expect(plans).toBeGreaterThan(10_000);
    expect(fired).toBeGreaterThanOrEqual(plans);
  });
});

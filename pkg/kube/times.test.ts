import { describe, expect, it } from 'vitest';
import { parseTime, toMicroTime, toTime } from './index.ts';

describe('times of Kubernetes', () => {
  it('are written with whole seconds or with six decimals', () => {
    const ms = Date.UTC(2026, 10, 5, 12, 0, 0, 250);

    expect(toTime(ms)).toBe('2026-11-05T12:00:00Z');
    expect(toMicroTime(ms)).toBe('2026-11-05T12:00:00.250000Z');
  });

  it.each([
    ['2026-11-05T12:00:00Z', Date.UTC(2026, 10, 5, 12)],
    ['2026-11-05T12:00:00.250000Z', Date.UTC(2026, 10, 5, 12, 0, 0, 250)],
    ['2026-11-05T12:00:00.999999Z', Date.UTC(2026, 10, 5, 12, 0, 0, 999)],
    ['2026-11-05T12:00:00.1Z', Date.UTC(2026, 10, 5, 12, 0, 0, 100)],
    ['2026-11-05T14:30:00+02:30', Date.UTC(2026, 10, 5, 12)],
  ])('reads %s', (text, ms) => {
    expect(parseTime(text)).toBe(ms);
  });

  it('reads a text again as it did before, whatever was read in between', () => {
    const texts = ['2026-11-05T12:00:00Z', '2026-11-05T12:00:01.5Z'];
    const read = () => texts.map(parseTime);
    const before = read();

    expect(read()).toEqual(before);
    expect(before).toEqual([Date.UTC(2026, 10, 5, 12), Date.UTC(2026, 10, 5, 12, 0, 1, 500)]);
  });

  it.each([undefined, null, ''])('reads %s as never', (text) => {
    expect(parseTime(text)).toBeUndefined();
  });

  it.each(['yesterday', '2026-11-05', '2026-11-05 12:00:00Z', '2026-13-05T12:00:00Z'])('refuses "%s"', (text) => {
    expect(() => parseTime(text)).toThrow(`"${text}" is not an RFC 3339 time`);
  });
});

import { expect, it } from 'vitest';
import { everyTargetOption } from './lab-text.ts';

it.each([
  ['1.14.1', '--all'],
  ['1.13.2', '--ca talos,kubernetes,etcd'],
  ['1.9.0', '--ca talos,kubernetes,etcd'],
])('proposes for Talos %s what can be rotated there: %s', (talosVersion, option) => {
  expect(everyTargetOption([{ talosVersion: '1.14.1' }, { talosVersion }])).toBe(option);
});

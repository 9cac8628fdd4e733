import { describe, expect, it } from 'vitest';
import { addressOfEndpoint } from './index.ts';

describe('the address of an endpoint', () => {
  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['10.0.0.1:50000', '10.0.0.1'],
    ['cp1.example.org:50000', 'cp1.example.org'],
    ['fd00::1', 'fd00::1'],
    ['[fd00::1]', 'fd00::1'],
    ['[fd00::1]:50000', 'fd00::1'],
    // Another port is nothing that a Talos API listens on by itself: it stays, and the connection says so.
    ['10.0.0.1:6443', '10.0.0.1:6443'],
  ])('%s is %s', (endpoint, address) => {
    expect(addressOfEndpoint(endpoint)).toBe(address);
  });
});

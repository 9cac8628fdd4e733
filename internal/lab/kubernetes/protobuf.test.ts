import { describe, expect, it } from 'vitest';
import { ProtobufError, readProtobuf } from './protobuf.ts';

const number = (field: number, value: number): Buffer => Buffer.from([field << 3, value]);
const bytes = (field: number, value: Buffer | string): Buffer => {
  const content = Buffer.from(value);
  return Buffer.concat([Buffer.from([(field << 3) | 2, content.length]), content]);
};
const join = (...parts: readonly Buffer[]): Buffer => Buffer.concat(parts);
const body = (apiVersion: string, kind: string, raw: Buffer): Buffer =>
  join(Buffer.from('k8s\0'), bytes(1, join(bytes(1, apiVersion), bytes(2, kind))), bytes(2, raw));

describe('objects in protobuf', () => {
  it('reads a text map, and leaves out what was not set', () => {
    const raw = join(
      bytes(1, join(bytes(1, 'map'), bytes(2, ''), bytes(3, 'default'), bytes(5, ''), bytes(8, ''))),
      bytes(2, join(bytes(1, 'a'), bytes(2, '1'))),
      bytes(2, join(bytes(1, 'empty'), bytes(2, ''))),
    );

    expect(readProtobuf(body('v1', 'ConfigMap', raw))).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'map', namespace: 'default' },
      data: { a: '1', empty: '' },
    });
  });

  it('reads bytes as base64, numbers that are 0, and values of either kind', () => {
    const secret = readProtobuf(body('v1', 'Secret', bytes(2, join(bytes(1, 'k'), bytes(2, 'value')))));
    const deletion = readProtobuf(body('v1', 'DeleteOptions', join(number(1, 0), bytes(2, bytes(1, 'uid')))));
    const budget = readProtobuf(
      body('policy/v1', 'PodDisruptionBudget', bytes(2, bytes(1, join(number(1, 1), number(2, 0), bytes(3, '50%'))))),
    );
    const lease = readProtobuf(
      body('coordination.k8s.io/v1', 'Lease', bytes(2, join(bytes(1, 'me'), number(2, 15), bytes(4, number(1, 100))))),
    );

    expect(secret).toMatchObject({ data: { k: 'dmFsdWU=' } });
    expect(deletion).toMatchObject({ gracePeriodSeconds: 0, preconditions: { uid: 'uid' } });
    expect(budget).toMatchObject({ spec: { minAvailable: '50%' } });
    expect(lease).toMatchObject({
      spec: { holderIdentity: 'me', leaseDurationSeconds: 15, renewTime: '1970-01-01T00:01:40.000000Z' },
    });
  });

  it.each([
    [Buffer.from('{"kind":"ConfigMap"}'), 'it does not begin with k8s and a zero byte'],
    [body('v1', 'Pod', Buffer.alloc(0)), 'v1 Pod is read only as JSON here'],
    [body('v1', 'ConfigMap', Buffer.from([0x0a, 0x05, 0x01])), 'it ends within a field'],
    [body('v1', 'ConfigMap', Buffer.from([0x0a, 0x80])), 'it ends within a number'],
    [body('v1', 'ConfigMap', Buffer.from([0x0b])), 'it has a field of wire type 3'],
    [body('v1', 'ConfigMap', number(1, 1)), 'a field is a number where bytes were expected'],
  ])('refuses %o: %s', (sent, why) => {
    expect(() => readProtobuf(sent)).toThrow(new ProtobufError(why));
  });
});

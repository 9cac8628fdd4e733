import { describe, expect, it } from 'vitest';
import { Data } from '../../../proto/generated/talos/common.ts';
import { HostnameResponse } from '../../../proto/generated/talos/machine.ts';
import { CODE, GrpcError } from './grpc.ts';
import { asReply, failedMessage, namedMessage, namedReply } from './one-to-many.ts';

describe('replies of several machines', () => {
  it('are one list, with the name of the machine in each message, however long they are', () => {
    const replies = ['cp1', 'x'.repeat(300)].map((hostname) =>
      Buffer.from(HostnameResponse.encode({ messages: [{ metadata: undefined, hostname }] }).finish()),
    );

    const bytes = Buffer.concat(replies.map((reply, index) => namedReply(reply, `10.0.0.${index}`)));

    expect(HostnameResponse.decode(bytes).messages).toMatchObject([
      { metadata: { hostname: '10.0.0.0', error: '' }, hostname: 'cp1' },
      { metadata: { hostname: '10.0.0.1', error: '' }, hostname: 'x'.repeat(300) },
    ]);
  });

  it('hold an error in the words of Go where a machine did not answer', () => {
    const failed = failedMessage('10.0.0.1', new GrpcError(CODE.unavailable, 'connection refused'));

    expect(HostnameResponse.decode(asReply(failed)).messages[0]?.metadata).toEqual({
      hostname: '10.0.0.1',
      error: 'rpc error: code = Unavailable desc = connection refused',
      status: { code: 14, message: 'connection refused', details: [] },
    });
  });

  it('of a stream carry the name in each message', () => {
    const chunk = Buffer.from(Data.encode({ metadata: undefined, bytes: Buffer.from('abc') }).finish());

    expect(Data.decode(namedMessage(chunk, 'cp1'))).toMatchObject({
      metadata: { hostname: 'cp1' },
      bytes: Buffer.from('abc'),
    });
  });
});

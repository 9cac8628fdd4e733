import { gunzipSync } from 'node:zlib';
import { Empty } from '../../../proto/generated/google/protobuf/empty.ts';
import type { Data } from '../../../proto/generated/talos/common.ts';
import { MachineServiceService, ReadRequest } from '../../../proto/generated/talos/machine.ts';
import { Secret } from '../../pki/index.ts';
import type { CallKind } from '../invoke.ts';
import type { TalosMachine } from '../machine.ts';
import { MAX_MESSAGE_BYTES } from '../transport/call.ts';
import { TransportFailure } from '../transport/failure.ts';
import { type CallContext, refuseError } from './context.ts';
import { readTarEntry } from './tar.ts';

export type FileCalls = Pick<TalosMachine, 'readFile' | 'kubeconfig'>;

/** Whatever the machine sends as a stream of bytes. */
export function createFileCalls({ invoker, deadlines }: CallContext): FileCalls {
  async function collect(kind: CallKind, chunks: AsyncIterable<Data>, maxBytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of chunks) {
      refuseError(invoker, kind, chunk);
      bytes += chunk.bytes.length;
      if (bytes > maxBytes) {
        throw invoker.failure(kind, new TransportFailure('too-large', 'not-done', `more than ${maxBytes} bytes`));
      }
      parts.push(chunk.bytes);
    }
    return Buffer.concat(parts);
  }

  return {
    readFile(path, options = {}) {
      const kind = { call: `Read ${path}`, deadlineMs: deadlines.streamMs };
      const chunks = invoker.stream(MachineServiceService.read, ReadRequest.fromPartial({ path }), kind, options);
      return collect(kind, chunks, options.maxBytes ?? MAX_MESSAGE_BYTES);
    },

    async kubeconfig(options) {
      // A stream of a few kilobytes that is issued for this call, as the client of `issueClient` is: people wait for it.
      const kind = { call: 'Kubeconfig', deadlineMs: deadlines.readMs };
      const chunks = invoker.stream(MachineServiceService.kubeconfig, Empty.create(), kind, options);
      const archive = await collect(kind, chunks, MAX_MESSAGE_BYTES);
      try {
        const entry = readTarEntry(gunzipSync(archive, { maxOutputLength: MAX_MESSAGE_BYTES }), 'kubeconfig');
        return Secret.of('kubeconfig', entry.toString('utf8'));
      } catch {
        const detail = 'the reply is not a tar.gz with a kubeconfig in it';
        throw invoker.failure(kind, new TransportFailure('malformed', 'not-done', detail));
      }
    },
  };
}

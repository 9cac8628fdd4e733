import type { Certificate } from '../../pkg/pki/index.ts';
import type { ListedMachine } from './machines.ts';
import { signedBy } from './observe-machine.ts';
import type { Connections } from './ports.ts';

/**
 * Names of the machines whose kubelet serves a certificate that this Kubernetes CA signed (`rotate-server-certificates`),
 * and not one that it made itself. Shows no certificate and trusts none; who cannot be reached is not among them.
 */
export async function kubeletsSignedBy(
  ca: Certificate,
  {
    connections,
    machines,
  }: {
    readonly connections: Pick<Connections, 'probeTls'>;
    readonly machines: readonly Pick<ListedMachine, 'name' | 'address'>[];
  },
): Promise<string[]> {
  const found = await Promise.all(
    machines.map(async ({ name, address }) => {
      const { chain } = await connections.probeTls({ host: address, port: 10_250, alpn: [], trust: [] });
      const [leaf] = chain;
      return leaf !== undefined && signedBy(leaf, ca) ? name : undefined;
    }),
  );
  return found.filter((name) => name !== undefined);
}

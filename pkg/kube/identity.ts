import type { Credentials, ResolvedCredentials } from './client.ts';
import { KubeError } from './errors.ts';

/** The client's side of one connection; its token goes into each request instead. */
export type ClientIdentity = ResolvedCredentials;

/**
 * What to present right now. A plugin is asked each time and keeps its own cache, because it alone knows when what it
 * gave runs out. Throws a KubeError of kind `unauthorized` when it gives nothing.
 */
export async function identityFor(credentials: Credentials, server: string): Promise<ClientIdentity> {
  switch (credentials.kind) {
    case 'certificate': {
      const chain = [credentials.certificate, ...(credentials.intermediates ?? [])];
      return { certificatePem: chain.map((certificate) => certificate.pem).join(''), key: credentials.key };
    }
    case 'token':
      return { token: credentials.token };
    case 'plugin':
      try {
        return await credentials.resolve();
      } catch (cause) {
        throw new KubeError({
          kind: 'unauthorized',
          server,
          doing: `get credentials from ${credentials.name}`,
          found: cause instanceof Error ? cause.message : String(cause),
          outcome: 'not-done',
          cause,
        });
      }
    case 'anonymous':
      return {};
  }
}

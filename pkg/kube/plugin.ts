import type { RequestOptions } from 'node:https';
import { parsePrivateKey, Secret } from '../pki/index.ts';
import type { Credentials, ResolvedCredentials } from './client.ts';

/**
 * Credentials that a kubeconfig only refers to: an exec plugin (cloud logins), an auth provider, a token file, key files.
 *
 * This is the one place where @kubernetes/client-node is used: it knows these kinds, their caches and their expiry, and it
 * is loaded only when such a kubeconfig is met. It is used for nothing else, for measured reasons: its informer stays dead
 * after a failed reconnect, it opens a TLS connection for each call, its typed API drops fields that it does not know, it
 * chooses content types by itself, and it cannot say whether a failed call may have been done.
 */
export function pluginCredentials(
  kubeconfig: string,
  about: { where: string; userName: string; context: string | undefined; directory: string | undefined },
): Credentials {
  let loading: Promise<{ applyToHTTPSOptions(options: RequestOptions): Promise<void> }> | undefined;

  async function load() {
    const { KubeConfig } = await import('@kubernetes/client-node');
    const config = new KubeConfig();
    config.loadFromString(kubeconfig);
    if (about.context !== undefined) config.setCurrentContext(about.context);
    if (about.directory !== undefined) config.makePathsAbsolute(about.directory);
    return config;
  }

  return {
    kind: 'plugin',
    name: `user "${about.userName}" of ${about.where}`,
    async resolve(): Promise<ResolvedCredentials> {
      loading ??= load();
      const options: RequestOptions = {};
      await (await loading).applyToHTTPSOptions(options);
      const resolved = readOptions(options);
      if (resolved.token === undefined && resolved.certificatePem === undefined) {
        throw new Error('neither a token nor a certificate was given');
      }
      return resolved;
    },
  };
}

function readOptions(options: RequestOptions): ResolvedCredentials {
  const headers = options.headers as Readonly<Record<string, string | undefined>> | undefined;
  const token = headers?.Authorization?.replace(/^Bearer /, '');
  const certificatePem = options.cert === undefined ? undefined : String(options.cert);
  return {
    ...(token === undefined || token === '' ? {} : { token: Secret.of('bearer-token', token) }),
    ...(certificatePem === undefined || options.key === undefined
      ? {}
      : { certificatePem, key: parsePrivateKey(Secret.of('private-key', String(options.key))) }),
  };
}

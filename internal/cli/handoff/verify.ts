import { fromKubeconfig, whoAmI } from '../../../pkg/kube/index.ts';
import { readApiServerPort } from '../../../pkg/machineconfig/index.ts';
import type { Connections, ListedMachine } from '../../controller/index.ts';
import { CliError } from '../cli-error.ts';
import type { AdminCredentials } from './credentials.ts';
import { type RetryOptions, retryHandoff } from './retry.ts';

/** What new credentials are tried against. */
export interface VerifyOptions extends RetryOptions {
  readonly connections: Connections;
  readonly controlPlanes: readonly Pick<ListedMachine, 'name' | 'address'>[];
}

/**
 * Tries the new credentials as their owner will use them, over new connections:
 * the Talos API of every control plane, the API server on every control plane, at
 * the port that its configuration says, and the server that the kubeconfig names. Nothing is offered that was not seen
 * to work.
 *
 * @returns what was tried, one line each
 */
export async function verifyCredentials(credentials: AdminCredentials, options: VerifyOptions): Promise<string[]> {
  const tried: string[] = [];
  const servers: { readonly name: string; readonly server: string | undefined }[] = [];
  for (const machine of options.controlPlanes) {
    const { name, address } = machine;
    const { tag, port } = await retryHandoff(() => askTalos(credentials, machine, options), options);
    tried.push(`talosconfig: ${name} (${address}) answered, Talos ${tag}`);
    servers.push({ name, server: `https://${hostOf(address)}:${port}` });
  }
  servers.push({ name: 'the server in the kubeconfig', server: undefined });
  for (const { name, server } of servers) {
    const found = await retryHandoff(() => askKubernetes(credentials, server, options), options);
    tried.push(`kubeconfig: ${name} (${found.server}) answered, we are ${found.user}`);
  }
  return tried;
}

async function askTalos(
  { talos }: AdminCredentials,
  machine: Pick<ListedMachine, 'name' | 'address'>,
  { connections, signal }: VerifyOptions,
): Promise<{ readonly tag: string; readonly port: number }> {
  // A client of its own: an open connection is never verified again.
  const client = connections.talos({
    name: machine.name,
    address: machine.address,
    trust: talos.trust,
    credentials: talos.credentials,
  });
  try {
    const options = signal === undefined ? {} : { signal };
    const { tag } = await client.version({ ...options, fresh: true });
    const { config } = await client.configuration('active', options);
    return { tag, port: readApiServerPort(config.expose(), `the configuration of ${machine.name}`) };
  } finally {
    client.close();
  }
}

async function askKubernetes(
  { kubeconfig }: AdminCredentials,
  server: string | undefined,
  { connections, clock, signal }: VerifyOptions,
): Promise<{ readonly server: string; readonly user: string }> {
  const options = await fromKubeconfig(kubeconfig.expose(), { server, where: 'the new kubeconfig' });
  const client = connections.kube({ ...options, clock });
  try {
    const { user, groups } = await whoAmI(client, { fresh: true, signal });
    if (!groups.includes('system:masters')) {
      throw new CliError(
        'unreachable',
        `${options.server} takes the new kubeconfig for ${user} in ${groups.join(', ') || 'no group'}; expected the group system:masters`,
        'The rotation goes on waiting. Nothing was handed over.',
      );
    }
    return { server: options.server, user };
  } finally {
    client.close();
  }
}

function hostOf(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

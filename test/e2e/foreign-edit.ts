import { parseAllDocuments } from 'yaml';
import { createCa, Secret } from '../../pkg/pki/index.ts';
import { createTalosMachine, readTalosconfigFile, selectContext, type TalosMachine } from '../../pkg/talos/index.ts';
import type { RigMachine } from '../talos/machine.ts';

/** Runs `work` as the administrator whose talosconfig this is, straight at one machine. */
export async function asAdministrator<T>(
  talosconfig: string,
  { name, address }: RigMachine,
  work: (client: TalosMachine) => Promise<T>,
): Promise<T> {
  const { trust, credentials } = selectContext(await readTalosconfigFile(talosconfig), talosconfig);
  const client = createTalosMachine({ name, address, trust, credentials });
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

/**
 * Puts a stranger's CA in the place of `machine.ca` and says how it was before:
 * what somebody does who applies the configuration of another cluster. On a worker
 * nothing breaks at once, because the accepted list is left alone.
 */
export async function putStrangersCa(client: TalosMachine): Promise<string> {
  const before = (await client.configuration('active')).config.expose();
  const { certificate } = await createCa('talos', { now: Date.now(), backdateMs: 300_000 });
  const held: unknown = parseAllDocuments(before)[0]?.getIn(['machine', 'ca', 'crt']);
  if (typeof held !== 'string' || before.split(held).length !== 2) {
    throw new Error('expected the certificate of machine.ca once in the configuration');
  }
  await applyText(client, before.replace(held, Buffer.from(certificate.pem).toString('base64')));
  return before;
}

/** Applies a whole configuration as it is. */
export async function applyText(client: TalosMachine, config: string): Promise<void> {
  await client.apply({ config: Secret.of('machine-config', config), mode: 'NO_REBOOT' });
}

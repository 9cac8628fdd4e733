import { createServer, type Server } from 'node:net';
import { APID_PORT } from '../../pkg/talos/index.ts';
import { LabError } from './lab-error.ts';

/** Loopback addresses of one lab. */
export interface LabAddresses {
  /** Where the cluster's endpoint listens. */
  readonly endpoint: string;
  /** Counted from 1. */
  controlPlane(number: number): string;
  worker(number: number): string;
}

/** Port of the Kubernetes API on the endpoint; on the machines it is that of their configurations. */
export const KUBERNETES_PORT = 6443;

/** Labs that one host can run beside each other. */
const BLOCKS = 200;

/** The loopback addresses that labs take theirs from, by their first two numbers. */
const NETWORK = '127.77';

/** Addresses of the lab with this number, counted from 1. */
export function addressesOf(block: number, network = NETWORK): LabAddresses {
  const prefix = `${network}.${block}`;
  return {
    endpoint: `${prefix}.10`,
    controlPlane: (number) => `${prefix}.${10 + number}`,
    worker: (number) => `${prefix}.${30 + number}`,
  };
}

/** A lab's addresses, and the server on its endpoint, whose listening reserves them. */
export interface Reserved {
  readonly addresses: LabAddresses;
  readonly server: Server;
}

/**
 * Takes the first block of loopback addresses that no other lab has.
 * Errors: {@link LabError} `addresses` where the host has no such addresses, with
 * what to run (macOS has 127.0.0.1 alone), or where all are taken.
 */
export async function reserveAddresses(
  counts: { readonly controlPlanes: number; readonly workers: number },
  network = NETWORK,
): Promise<Reserved> {
  for (let block = 1; block <= BLOCKS; block += 1) {
    const addresses = addressesOf(block, network);
    const server = createServer();
    const failure = await listen(server, addresses.endpoint, KUBERNETES_PORT);
    if (failure === undefined) {
      if (await isUnused(addresses.controlPlane(1))) return { addresses, server };
      // A lab that is ending has let go of its endpoint, but not of its machines.
      server.close();
      continue;
    }
    if (failure === 'EADDRINUSE') continue;
    throw unusable(addresses, counts, failure);
  }
  throw new LabError(
    'addresses',
    `all ${BLOCKS} blocks of loopback addresses (127.77.N.10:${KUBERNETES_PORT}) are in use`,
    'End labs that are no longer needed: ichor lab down in their directories.',
  );
}

/** Every address that a lab of that size listens on. */
export function allAddresses(
  addresses: LabAddresses,
  { controlPlanes, workers }: { readonly controlPlanes: number; readonly workers: number },
): string[] {
  const count = (length: number, of: (number: number) => string): string[] =>
    Array.from({ length }, (_, index) => of(index + 1));
  return [addresses.endpoint, ...count(controlPlanes, addresses.controlPlane), ...count(workers, addresses.worker)];
}

/** What to run where an operating system gives out loopback addresses one by one. */
function unusable(addresses: LabAddresses, counts: Parameters<typeof allAddresses>[1], code: string): LabError {
  const list = allAddresses(addresses, counts).join(' ');
  return new LabError(
    'addresses',
    `the lab's machines need loopback addresses of their own, and ${addresses.endpoint} cannot be listened on (${code})`,
    [
      'Linux has all of 127.0.0.0/8. macOS has 127.0.0.1 alone; add the others until the next boot with:',
      `  for address in ${list}; do sudo ifconfig lo0 alias "$address" up; done`,
      'and take them away again with -alias in the place of alias.',
    ].join('\n'),
  );
}

/** Whether no machine of another lab listens there. */
async function isUnused(address: string): Promise<boolean> {
  const probe = createServer();
  const failure = await listen(probe, address, APID_PORT);
  probe.close();
  return failure !== 'EADDRINUSE';
}

/**
 * Errors: {@link LabError} `addresses` where the port that a machine's configuration has for
 * kube-apiserver cannot be listened on: those below 1024 are often for root alone.
 */
export async function checkFree(machine: string, address: string, port: number): Promise<void> {
  const probe = createServer();
  const failure = await listen(probe, address, port);
  await new Promise((resolve) => probe.close(resolve));
  if (failure === undefined) return;
  throw new LabError(
    'addresses',
    `the configuration of ${machine} has kube-apiserver on port ${port}, and ${address}:${port} cannot be listened on (${failure})`,
    'Free that port, or rehearse on copies of the configurations with another one; below 1024, run the lab as root.',
  );
}

/** The error's code, or nothing once the server listens. */
function listen(server: Server, host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const onError = (error: NodeJS.ErrnoException): void => resolve(error.code ?? error.message);
    server.once('error', onError);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', onError);
      resolve(undefined);
    });
  });
}

import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { output } from '../support/run.ts';
import { toolPath } from '../tools/tools.ts';
import type { CgroupVersion } from './host/cgroups.ts';
import { addressOf, gatewayOf, PORTS } from './host/network.ts';
import { launch } from './launch.ts';
import { cgroupOf, SERVICES } from './layout.ts';
import type { ClusterRecord } from './record.ts';
import { waitFor } from './wait.ts';

/** Starts the servers on the gateway address: image registry, discovery service, load balancer of the Kubernetes API. */
export async function startServices(record: ClusterRecord, cgroups: CgroupVersion): Promise<void> {
  const network = { cluster: record.name, index: record.index };
  const gateway = gatewayOf(network);
  const endpoint = splitEndpoint(record.endpoint);
  const own = Array.from({ length: record.controlPlanes }, (_, index) => addressOf(network, index + 1));
  const balanced = !own.includes(endpoint.address);
  if (balanced && endpoint.address !== gateway) {
    await output('ip', ['addr', 'replace', `${endpoint.address}/24`, 'dev', `ichor${record.index}`]);
  }
  await requireFree('the image registry', gateway, PORTS.registry);
  await requireFree('the discovery service', gateway, PORTS.discovery);
  if (balanced) await requireFree('the load balancer', endpoint.address, endpoint.port);

  const start = (name: string, command: string[]) =>
    launch({
      group: cgroupOf(record.name, SERVICES),
      cgroups,
      command,
      log: join(record.directory, 'rig', `${name}.log`),
    });
  start('registry', [toolPath('rig-registry'), 'serve', `${gateway}:${PORTS.registry}`, ...record.images]);
  start('discovery', [
    ...[toolPath('discovery-service'), '-addr', `${gateway}:${PORTS.discovery}`],
    ...['-landing-addr', '', '-metrics-addr', '', '-snapshots-enabled=false'],
  ]);
  if (balanced) {
    start('load-balancer', [
      ...[toolPath('rig-lb'), record.endpoint],
      ...own.map((address) => `${address}:${PORTS.kubernetes}`),
    ]);
  }
  await waitFor('the image registry', 20_000, async () => (await fetch(`http://${gateway}:${PORTS.registry}/v2/`)).ok);
}

function splitEndpoint(endpoint: string): { address: string; port: number } {
  const [address = '', port = ''] = endpoint.split(':');
  return { address, port: Number(port) };
}

/** Throws one line that names the port, and its owner if that can be found, when somebody listens there. */
export async function requireFree(what: string, address: string, port: number): Promise<void> {
  const free = await new Promise<boolean>((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, address, () => server.close(() => resolve(true)));
  });
  if (free) return;
  throw new Error(`port ${port} for ${what} on ${address} is in use${await ownerOf(port)}: stop what listens there`);
}

async function ownerOf(port: number): Promise<string> {
  if (!existsSync('/usr/bin/ss') && !existsSync('/bin/ss')) return '';
  const found = /users:\(\("([^"]+)",pid=(\d+)/.exec(await output('ss', ['-ltnpH', `sport = :${port}`]));
  return found === null ? '' : ` by ${found[1]} (process ${found[2]})`;
}

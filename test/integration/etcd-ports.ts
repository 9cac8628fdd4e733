import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CertificateAndKey, issueLeaf, toPkcs8, writeCertificates } from '../../pkg/pki/index.ts';
import { probeTls } from '../../pkg/talos/index.ts';
import { toolPath } from '../tools/tools.ts';

/** A real etcd on the ports that it has on a control plane. */
export interface TalosLikeEtcd extends AsyncDisposable {
  /** A loopback address of its own; it listens on 2379 and 2380 there. */
  readonly address: string;
}

/**
 * One member with the flags that decide how a control plane's etcd talks over TLS
 * (Talos 1.14.1): certificates of clients and peers asked for, TLS 1.3, and HTTP/1.1
 * on a port of its own, so that 2379 speaks gRPC and nothing else.
 */
export async function startTalosLikeEtcd(
  address: string,
  { signer, trusted }: { readonly signer: CertificateAndKey; readonly trusted: readonly CertificateAndKey[] },
): Promise<TalosLikeEtcd> {
  const directory = await mkdtemp(join(tmpdir(), 'ichor-etcd-'));
  const file = (name: string): string => join(directory, name);
  const { certificate, key } = await issueLeaf(signer, {
    subject: { cn: 'etcd' },
    usages: ['server', 'client'],
    ips: [address, '127.0.0.1'],
    now: Date.now(),
  });
  await writeFile(file('ca.crt'), writeCertificates(trusted.map((ca) => ca.certificate)));
  await writeFile(file('etcd.crt'), certificate.pem);
  await writeFile(file('etcd.key'), toPkcs8(key).expose(), { mode: 0o600 });
  const [client, peer] = [`https://${address}:2379`, `https://${address}:2380`];
  const files = (prefix: string): string[] => [
    `--${prefix}cert-file=${file('etcd.crt')}`,
    `--${prefix}key-file=${file('etcd.key')}`,
    `--${prefix}trusted-ca-file=${file('ca.crt')}`,
    `--${prefix}client-cert-auth=true`,
  ];
  const etcd = spawn(
    toolPath('etcd'),
    [
      `--data-dir=${file('data')}`,
      ...[`--listen-client-urls=${client}`, `--advertise-client-urls=${client}`],
      `--listen-client-http-urls=https://${address}:2383`,
      ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`, `--initial-cluster=default=${peer}`],
      ...files(''),
      ...files('peer-'),
      '--tls-min-version=TLS1.3',
      '--unsafe-no-fsync',
    ],
    { stdio: 'ignore' },
  );
  const gone = new Promise<void>((resolve) => etcd.once('exit', () => resolve()));
  const onExit = (): void => {
    etcd.kill('SIGKILL');
  };
  process.once('exit', onExit);
  const dispose = async (): Promise<void> => {
    process.off('exit', onExit);
    etcd.kill('SIGKILL');
    if (etcd.exitCode === null && etcd.signalCode === null) await gone;
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await untilListening(address, () => etcd.exitCode !== null);
  } catch (error) {
    await dispose();
    throw error;
  }
  return { address, [Symbol.asyncDispose]: dispose };
}

async function untilListening(address: string, hasEnded: () => boolean): Promise<void> {
  const endsAt = performance.now() + 60_000;
  for (;;) {
    const { verdict, detail } = await probeTls({ host: address, port: 2379, trust: [] });
    if (verdict !== 'unreachable') return;
    if (hasEnded() || performance.now() > endsAt) throw new Error(`etcd does not listen on ${address}:2379: ${detail}`);
    await sleep(100);
  }
}

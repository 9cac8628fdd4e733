import { type Certificate, kubernetesAdminProfile, talosAdminProfile, writeCertificates } from '../../pkg/pki/index.ts';
import { writeTalosconfig } from '../../pkg/talos/index.ts';
import type { LabWorld } from './served.ts';

/** What an administrator's kubeconfig is made of. */
export interface KubeconfigParts {
  readonly clusterName: string;
  /** `https://127.77.1.10:6443` */
  readonly server: string;
  readonly trust: readonly Certificate[];
  readonly certificate: Certificate;
  /** The private key, PEM. */
  readonly key: string;
}

/** A kubeconfig as `talosctl kubeconfig` writes it: one cluster, one user, all inline. */
export function kubeconfigText({ clusterName, server, trust, certificate, key }: KubeconfigParts): string {
  const data = (text: string): string => Buffer.from(text).toString('base64');
  const user = `admin@${clusterName}`;
  return [
    'apiVersion: v1',
    'kind: Config',
    'clusters:',
    `- name: ${clusterName}`,
    '  cluster:',
    `    server: ${server}`,
    `    certificate-authority-data: ${data(writeCertificates(trust))}`,
    'users:',
    `- name: ${user}`,
    '  user:',
    `    client-certificate-data: ${data(certificate.pem)}`,
    `    client-key-data: ${data(key)}`,
    'contexts:',
    '- context:',
    `    cluster: ${clusterName}`,
    '    namespace: default',
    `    user: ${user}`,
    `  name: ${user}`,
    `current-context: ${user}`,
    '',
  ].join('\n');
}

/** The administrator's talosconfig of a lab: every control plane as endpoint, the first one as node. */
export async function adminTalosconfig({ world, certificates }: LabWorld, clusterName: string): Promise<string> {
  const { certificate } = world.bundle.talos;
  const endpoints = world.planes().map((machine) => machine.address);
  const credentials = await certificates.issue(certificate.fingerprint, talosAdminProfile({ now: world.clock.now() }));
  const context = { endpoints, nodes: endpoints.slice(0, 1), trust: [certificate], credentials, rest: {} };
  return writeTalosconfig({ context: clusterName, contexts: { [clusterName]: context } });
}

/** The administrator's kubeconfig of a lab. */
export async function adminKubeconfig(
  { world, certificates, endpoint }: LabWorld,
  clusterName: string,
): Promise<string> {
  const ca = world.bundle.kubernetes.certificate;
  const admin = await certificates.issue(ca.fingerprint, kubernetesAdminProfile({ now: world.clock.now() }));
  return kubeconfigText({
    clusterName,
    server: `https://${endpoint.address}:${endpoint.port}`,
    trust: [ca],
    certificate: admin.certificate,
    key: admin.key.expose(),
  });
}

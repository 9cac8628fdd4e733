import { Secret, writeCertificates } from '../../pkg/pki/index.ts';
import type { CaMaterial } from './material.ts';
import type { Mint } from './mint.ts';

/**
 * The kubeconfig that a control plane issues: trusts what it accepts, shows a leaf of what it signs with. The same for
 * the same material, which the machines of many worlds have.
 */
export function issueKubeconfig(mint: Mint, ca: CaMaterial, server: string): Secret<'kubeconfig'> {
  const known = issued.get(ca) ?? new Map<string, Secret<'kubeconfig'>>();
  const kubeconfig = known.get(server) ?? writeKubeconfig(mint, ca, server);
  issued.set(ca, known.set(server, kubeconfig));
  return kubeconfig;
}

const issued = new WeakMap<CaMaterial, Map<string, Secret<'kubeconfig'>>>();

function writeKubeconfig(mint: Mint, ca: CaMaterial, server: string): Secret<'kubeconfig'> {
  const leaf = mint.leaf(ca.issuing.fingerprint);
  const data = (text: string): string => Buffer.from(text).toString('base64');
  return Secret.of(
    'kubeconfig',
    [
      'apiVersion: v1',
      'kind: Config',
      'clusters:',
      '- name: simulated',
      '  cluster:',
      `    server: ${server}`,
      `    certificate-authority-data: ${data(writeCertificates(ca.accepted))}`,
      'users:',
      '- name: admin@simulated',
      '  user:',
      `    client-certificate-data: ${data(leaf.certificate.pem)}`,
      `    client-key-data: ${data(leaf.key.expose())}`,
      'contexts:',
      '- name: admin@simulated',
      '  context:',
      '    cluster: simulated',
      '    user: admin@simulated',
      'current-context: admin@simulated',
      '',
    ].join('\n'),
  );
}

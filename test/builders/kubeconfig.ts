import { type CertificateAndKey, issueLeaf, kubernetesAdminProfile, Secret } from '../../pkg/pki/index.ts';

/** What a test says of a kubeconfig. */
export interface KubeconfigOptions {
  readonly server?: string;
  readonly name?: string;
  readonly validityMs?: number;
  /** CAs that it trusts beside the one that signed its certificate. */
  readonly alsoTrusted?: readonly CertificateAndKey[];
}

/** A kubeconfig as a Talos machine issues it: one cluster, one user, an administrator's certificate by this CA. */
export async function aKubeconfig(
  ca: CertificateAndKey,
  now: number,
  options: KubeconfigOptions = {},
): Promise<Secret<'kubeconfig'>> {
  const { server = 'https://10.0.0.1:6443', name = 'home', validityMs, alsoTrusted = [] } = options;
  const leaf = await issueLeaf(
    ca,
    kubernetesAdminProfile({ now, ...(validityMs === undefined ? {} : { validityMs }) }),
  );
  const encode = (pem: string): string => Buffer.from(pem).toString('base64');
  return Secret.of(
    'kubeconfig',
    `apiVersion: v1
kind: Config
clusters:
  - name: ${name}
    cluster:
      server: ${server}
      certificate-authority-data: ${encode([ca, ...alsoTrusted].map(({ certificate }) => certificate.pem).join(''))}
users:
  - name: admin@${name}
    user:
      client-certificate-data: ${encode(leaf.certificate.pem)}
      client-key-data: ${encode(leaf.key.expose())}
contexts:
  - name: admin@${name}
    context:
      cluster: ${name}
      namespace: default
      user: admin@${name}
current-context: admin@${name}
`,
  );
}

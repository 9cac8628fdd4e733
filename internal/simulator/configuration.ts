import type { SecretsBundle } from '../../pkg/bundle/index.ts';
import type { CertificateAndKey } from '../../pkg/pki/index.ts';

/** Which configuration is written. */
export interface ConfigurationOptions {
  readonly role: 'controlplane' | 'worker';
  /** `typed` has the Kubernetes material in the documents of Talos 1.14. */
  readonly shape: 'legacy' | 'typed';
  readonly bundle: SecretsBundle;
  readonly hostname: string;
  /** URL of the Kubernetes API; one that leads nowhere unless given. */
  readonly endpoint?: string;
  /** `simulated` unless given. */
  readonly clusterName?: string;
  /** Where kube-apiserver of a control plane listens; written where it is not 6443. */
  readonly apiServerPort?: number | undefined;
}

/**
 * A machine configuration as `talosctl gen config` lays it out, with a comment that must survive every change.
 * The same text for the same options: the machines of all worlds over one bundle are born with it.
 */
export function writeConfiguration(options: ConfigurationOptions): string {
  const { bundle, role, shape, hostname, endpoint, clusterName, apiServerPort } = options;
  const known = written.get(bundle) ?? new Map<string, string>();
  const key = [role, shape, hostname, endpoint, clusterName, apiServerPort].join('\n');
  const text = known.get(key) ?? write(options);
  written.set(bundle, known.set(key, text));
  return text;
}

/** Forgotten together with the bundle. */
const written = new WeakMap<SecretsBundle, Map<string, string>>();

function write(options: ConfigurationOptions): string {
  const { role, shape, bundle, hostname, endpoint = ENDPOINT, clusterName = 'simulated' } = options;
  const isPlane = role === 'controlplane';
  const isLegacy = shape === 'legacy';
  const port = isPlane && options.apiServerPort !== USUAL_PORT ? options.apiServerPort : undefined;
  const lines = [
    'version: v1alpha1',
    'machine:',
    `    type: ${role}`,
    `    token: ${bundle.trustdToken.expose()}`,
    ...legacyCa(1, 'ca', bundle.talos, isPlane),
    '    certSANs: []',
    '    # kept by hand: do not lose this line',
    '    network: {}',
    'cluster:',
    ...(isLegacy ? [`    id: ${bundle.clusterId}`, `    secret: ${bundle.clusterSecret.expose()}`] : []),
    ...(isLegacy ? ['    controlPlane:', `        endpoint: ${endpoint}`] : []),
    ...(isLegacy && port !== undefined ? [`        localAPIServerPort: ${port}`] : []),
    ...(isLegacy ? [`    clusterName: ${clusterName}`] : []),
    `    token: ${bundle.bootstrapToken.expose()}`,
    ...(isLegacy && isPlane ? legacySecrets(bundle) : []),
    ...(isLegacy ? legacyCa(1, 'ca', bundle.kubernetes, isPlane) : []),
    ...(isLegacy && isPlane ? legacyCa(1, 'aggregatorCA', bundle.aggregator, true) : []),
    ...(isPlane ? ['    etcd:', ...legacyCa(2, 'ca', bundle.etcd, true)] : []),
  ];
  const documents = [
    lines,
    ...(isLegacy ? [] : typedDocuments(role, bundle, { endpoint, clusterName })),
    ...(isLegacy || port === undefined ? [] : apiServerDocuments(port)),
    hostnameDocument(hostname),
  ];
  return `${documents.map((each) => each.join('\n')).join('\n---\n')}\n`;
}

const ENDPOINT = 'https://cluster.simulated:6443';

const USUAL_PORT = 6443;

/** kube-apiserver does not start with the first document alone: it says who may do what, and asks the other two. */
function apiServerDocuments(port: number): string[][] {
  return [
    head('KubeAPIServerConfig', 'image: registry.k8s.io/kube-apiserver:v1.36.3', `apiPort: ${port}`),
    head('KubeAuthenticationConfig', 'config:', '    anonymous:', '        enabled: false'),
    head('KubeAuthorizerConfig', 'name: node', 'type: Node'),
    head('KubeAuthorizerConfig', 'name: rbac', 'type: RBAC'),
  ];
}

function hostnameDocument(hostname: string): string[] {
  return ['apiVersion: v1alpha1', 'kind: HostnameConfig', `hostname: ${hostname} # set by hand`];
}

function legacySecrets(bundle: SecretsBundle): string[] {
  const secretbox = bundle.secretboxEncryptionSecret?.expose();
  return [
    ...(secretbox === undefined ? [] : [`    secretboxEncryptionSecret: ${secretbox}`]),
    '    serviceAccount:',
    `        key: ${base64(bundle.serviceAccount.privateKey.expose())}`,
  ];
}

function typedDocuments(
  role: 'controlplane' | 'worker',
  bundle: SecretsBundle,
  { endpoint, clusterName }: { readonly endpoint: string; readonly clusterName: string },
): string[][] {
  const shared = [
    head('KubeClusterConfig', `clusterName: ${clusterName}`, `endpoint: ${endpoint}`),
    head(
      'DiscoveryIdentityConfig',
      `clusterID: ${bundle.clusterId}`,
      `clusterSecret: ${bundle.clusterSecret.expose()}`,
    ),
  ];
  if (role === 'worker') {
    return [
      ...shared,
      head('KubeAPIServerCAConfig', 'acceptedCAs:', ...block('    - |', 8, bundle.kubernetes.certificate.pem)),
    ];
  }
  return [
    ...shared,
    head('KubeAPIServerCAConfig', ...typedCa(bundle.kubernetes)),
    head('KubeAggregatorCAConfig', ...typedCa(bundle.aggregator)),
    head(
      'KubeEtcdEncryptionConfig',
      'config:',
      '    resources:',
      '        - resources: [secrets]',
      '          providers:',
      '            - secretbox:',
      '                keys:',
      '                    - name: key2',
      `                      secret: ${bundle.secretboxEncryptionSecret?.expose() ?? ''}`,
      '            - identity: {}',
    ),
    head(
      'KubeServiceAccountConfig',
      'issuer:',
      ...block('    privateKey: |', 8, bundle.serviceAccount.privateKey.expose()),
      `    issuerURL: ${endpoint}`,
    ),
  ];
}

function head(kind: string, ...lines: readonly string[]): string[] {
  return ['apiVersion: v1alpha1', `kind: ${kind}`, ...lines];
}

function typedCa(ca: CertificateAndKey): string[] {
  return ['issuingCA:', ...block('    cert: |', 8, ca.certificate.pem), ...block('    key: |', 8, ca.key.expose())];
}

function block(first: string, indent: number, pem: string): string[] {
  const pad = ' '.repeat(indent);
  return [
    first,
    ...pem
      .trimEnd()
      .split('\n')
      .map((line) => pad + line),
  ];
}

function legacyCa(level: number, key: string, ca: CertificateAndKey, hasKey: boolean): string[] {
  const pad = '    '.repeat(level);
  return [
    `${pad}${key}:`,
    `${pad}    crt: ${base64(ca.certificate.pem)}`,
    `${pad}    key: ${hasKey ? base64(ca.key.expose()) : '""'}`,
  ];
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

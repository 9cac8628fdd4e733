import { type ConfigMapObject, type KubeObject, toTime } from '../../../pkg/kube/index.ts';
import { writeCertificates } from '../../../pkg/pki/index.ts';
import type { AuthenticationMap } from '../kubernetes.ts';
import type { World } from '../world.ts';
import { AGE_COLUMN, column, NAME_COLUMN } from './columns.ts';
import { fieldOf, isFields } from './fields.ts';
import { namespaceOf } from './namespaces.ts';
import { invalid } from './resource.ts';
import { shared } from './shared.ts';
import { stored } from './stored.ts';

const AUTHENTICATION = 'extension-apiserver-authentication';

/** The ConfigMaps that a cluster keeps itself: every namespace's root CAs, and what extension API servers trust. */
function own(world: World): ConfigMapObject[] {
  const roots = [...world.kubernetes.rootCas].map(([namespace, pem]) => rootCaObject(world, namespace, pem));
  const map = authenticationObject(world);
  return map === undefined ? roots : [...roots, map];
}

function rootCaObject(world: World, namespace: string, pem: string): ConfigMapObject {
  const state = namespaceOf(world, namespace);
  return rootCaOf(state, { namespace, pem, createdAt: state.createdAt });
}

interface RootCaFacts {
  readonly namespace: string;
  readonly pem: string;
  readonly createdAt: number;
}

const rootCaOf = shared(
  ({ namespace, pem, createdAt }: RootCaFacts): ConfigMapObject => ({
    metadata: {
      name: 'kube-root-ca.crt',
      namespace,
      uid: `root-${namespace}`,
      resourceVersion: '1',
      creationTimestamp: toTime(createdAt),
    },
    data: { 'ca.crt': pem },
  }),
);

function authenticationObject(world: World): ConfigMapObject | undefined {
  const map = world.kubernetes.authentication;
  return map === undefined ? undefined : authenticationOf(map, { ...map });
}

const authenticationOf = shared(
  ({ uid, createdAt, requestheader, client }: AuthenticationMap): ConfigMapObject => ({
    metadata: {
      name: AUTHENTICATION,
      namespace: 'kube-system',
      uid,
      resourceVersion: '1',
      creationTimestamp: toTime(createdAt),
    },
    data: {
      'requestheader-client-ca-file': writeCertificates(requestheader),
      'client-ca-file': writeCertificates(client),
      'requestheader-allowed-names': '["front-proxy-client"]',
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
      'requestheader-group-headers': '["X-Remote-Group"]',
      'requestheader-username-headers': '["X-Remote-User"]',
    },
  }),
);

const sizeOf = (object: KubeObject): number =>
  ['data', 'binaryData'].flatMap((field) => Object.keys((fieldOf(object, field) ?? {}) as object)).length;

/** ConfigMaps. */
export const CONFIG_MAPS = stored({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  singular: 'configmap',
  kind: 'ConfigMap',
  namespaced: true,
  shortNames: ['cm'],
  columns: [NAME_COLUMN, column('Data', sizeOf), AGE_COLUMN],
  own,
  removeOwn(world, { object }) {
    if (object.metadata.name === AUTHENTICATION) world.kubernetes.deleteAuthentication(world);
    return undefined;
  },
  admit(object) {
    const { data = {} } = object as ConfigMapObject;
    const isText = isFields(data) && Object.values(data).every((value) => typeof value === 'string');
    return isText
      ? { object }
      : { refusal: invalid(CONFIG_MAPS, object.metadata.name, 'data', 'Invalid value: every value must be text') };
  },
});

/** Secrets. Their bytes are kept as they were sent; encryption at rest is not modelled here. */
export const SECRETS = stored({
  group: '',
  version: 'v1',
  plural: 'secrets',
  singular: 'secret',
  kind: 'Secret',
  namespaced: true,
  shortNames: [],
  fields: ['type'],
  columns: [
    NAME_COLUMN,
    column('Type', (object) => String(fieldOf(object, 'type'))),
    column('Data', sizeOf),
    AGE_COLUMN,
  ],
  admit(object) {
    const { stringData = {}, data = {}, type = 'Opaque', ...rest } = object as KubeObject & SecretFields;
    const written = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
    return { object: { ...rest, data: { ...data, ...Object.fromEntries(written) }, type } as KubeObject };
  },
});

interface SecretFields {
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly type?: string;
}

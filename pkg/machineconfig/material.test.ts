import { beforeAll, describe, expect, it } from 'vitest';
import {
  aMachineConfig,
  base64,
  type ClusterMaterial,
  changesBetween,
  someMaterial,
} from '../../test/builders/machine-config.ts';
import {
  type Change,
  drift,
  explainStage,
  MachineConfigError,
  openMachineConfig,
  readMachineConfig,
  renderStage,
  stageOf,
} from './index.ts';

let material: ClusterMaterial;
let changes: readonly Change[];

beforeAll(async () => {
  material = await someMaterial('key2');
  changes = changesBetween(material, await someMaterial('key3'));
});

/** The refusal to read a configuration, without its line. */
function refusal(config: string): string | undefined {
  try {
    readMachineConfig(config, 'cp-1');
  } catch (error) {
    const { kind, message } = error as MachineConfigError;
    return `${kind}: ${message.replace(/, line \d+/, '')}`;
  }
  return undefined;
}

describe('a certificate field', () => {
  const withCertificate = (written: string) =>
    aMachineConfig({ material }).replace(base64(material.talos.certificate.pem), written);

  it.each(['LS0', 'LS0tL', 'LS0t!A==', '=LS0', 'LS0t LS0', 'A===', '-LS0'])('"%s" is no base64', (written) => {
    expect(refusal(withCertificate(JSON.stringify(written)))).toBe(
      'bad-value: cp-1, machine.ca.crt: expected base64 of PEM text',
    );
  });

  it('is read as Go reads base64, over line ends of either kind', () => {
    const lines = base64(material.talos.certificate.pem).match(/.{1,64}/g) ?? [];

    expect(readMachineConfig(withCertificate(JSON.stringify(lines.join('\r\n')))).talos.issuing?.pem).toBe(
      material.talos.certificate.pem,
    );
  });

  it('may hold one certificate twice, and nothing that is none', () => {
    const { pem } = material.talos.certificate;

    expect(readMachineConfig(withCertificate(base64(pem + pem))).talos.issuing?.pem).toBe(pem);
    expect(refusal(withCertificate(base64(`${pem}${material.talos.key.expose()}`)))).toMatch(
      /^bad-value: cp-1, machine\.ca\.crt: .*PRIVATE KEY/,
    );
  });
});

describe('a list of public keys', () => {
  it('is refused with the place in the file, and the line of the key apart from it', () => {
    const key = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n';
    const config = aMachineConfig({ material, shape: 'typed' }).replace(
      /(kind: KubeServiceAccountConfig\n)/,
      `$1accepted: {publicKeys: [${JSON.stringify(key)}]}\n`,
    );
    const line = config.split('\n').findIndex((text) => text.startsWith('accepted: {publicKeys')) + 1;

    expect(() => readMachineConfig(config, 'cp-1')).toThrow(
      `cp-1, line ${line}, KubeServiceAccountConfig.accepted.publicKeys[0]: its text, line 1: the PUBLIC KEY block holds no public key`,
    );
  });

  it('holds nothing else', () => {
    const config = aMachineConfig({ material, shape: 'typed' }).replace(
      /(kind: KubeServiceAccountConfig\n)/,
      `$1accepted: {publicKeys: [${JSON.stringify(material.talos.certificate.pem)}]}\n`,
    );

    expect(refusal(config)).toMatch(
      /^bad-value: cp-1, KubeServiceAccountConfig\.accepted\.publicKeys\[0\]: .*expected a public key .*, found CERTIFICATE$/,
    );
  });
});

describe('a refusal', () => {
  const change = () => changes.find(({ target }) => target === 'talos') as Change;

  it.each<[string, (text: string) => unknown]>([
    ['readMachineConfig', (text) => readMachineConfig(text, 'cp-1')],
    ['openMachineConfig', (text) => openMachineConfig(text, 'cp-1')],
    ['stageOf', (text) => stageOf(text, change(), 'cp-1')],
    ['explainStage', (text) => explainStage(text, change(), 'cp-1')],
    ['drift', (text) => drift(text, changes, 'Issuing', 'cp-1')],
    ['renderStage', (text) => renderStage(text, changes, 'Issuing', { talosVersion: 'v1.14.1', where: 'cp-1' })],
  ])('by %s names the machine', (_name, call) => {
    expect(() => call('kind: HostnameConfig\n')).toThrow(
      new MachineConfigError(
        'not-a-machine-configuration',
        'has no v1alpha1 document (machine: and cluster:); expected a whole Talos machine configuration',
        { where: 'cp-1' },
      ),
    );
  });

  it('says where, as far as that is known, and why', () => {
    const cause = new Error('x');
    const whole = new MachineConfigError('bad-value', 'is odd', { where: 'cp-1', line: 3, field: 'machine.ca', cause });
    const bare = new MachineConfigError('bad-change', 'is odd');

    expect({ ...whole, message: whole.message, cause: whole.cause }).toEqual({
      name: 'MachineConfigError',
      kind: 'bad-value',
      where: 'cp-1',
      line: 3,
      field: 'machine.ca',
      message: 'cp-1, line 3, machine.ca: is odd',
      cause,
    });
    expect(bare.message).toBe('machine configuration: is odd');
    expect('cause' in bare).toBe(false);
  });
});

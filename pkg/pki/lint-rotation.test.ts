import { describe, expect, it } from 'vitest';
import { aCa, anOddCertificate, MADE_AT, oddKeys } from '../../test/builders/certificates.ts';
import type { CaTarget } from './ca.ts';
import { lintRotation } from './lint-rotation.ts';

const HOUR = 3_600_000;
const AT = { now: MADE_AT };
const TARGETS: readonly CaTarget[] = ['talos', 'kubernetes', 'etcd', 'kubernetes-aggregator'];

describe('the lint of a rotation', () => {
  it('has nothing against replacing all four CAs by new ones of the same names', async () => {
    const changes = await Promise.all(
      TARGETS.map(async (target) => ({ target, old: await aCa(target), new: await aCa(target) })),
    );

    expect(lintRotation(changes, AT)).toEqual([]);
  });

  it('takes an old CA without its key, expired or of a forbidden kind', async () => {
    const old = { certificate: (await anOddCertificate({ notAfter: MADE_AT - HOUR, keyUsages: 1 })).certificate };

    expect(lintRotation([{ target: 'etcd', old, new: await aCa('etcd') }], AT)).toEqual([]);
  });

  it('holds the new CA to every rule', async () => {
    const change = { target: 'etcd', old: await aCa('etcd'), new: await aCa('etcd', { validityMs: HOUR }) } as const;

    expect(lintRotation([change], { now: MADE_AT + 2 * HOUR })).toEqual([
      {
        certificate: `the new etcd CA (${change.new.certificate.fingerprint})`,
        rule: 'expired',
        message: `the new etcd CA (${change.new.certificate.fingerprint}) expired at 2026-11-30T01:53:20.000Z; it is 2026-11-30T02:53:20.000Z`,
      },
    ]);
  });

  it('states and uses the clock skew', async () => {
    const change = { target: 'etcd', old: await aCa('etcd'), new: await aCa('etcd', { now: MADE_AT + HOUR }) } as const;

    expect(lintRotation([change], AT).map(({ rule }) => rule)).toEqual(['not-yet-valid']);
    expect(lintRotation([change], { ...AT, clockSkewMs: HOUR })).toEqual([]);
  });

  it('wants the old key to fit, too', async () => {
    const [one, two] = [await aCa('etcd'), await aCa('etcd')];
    const old = { certificate: one.certificate, key: two.key };

    expect(lintRotation([{ target: 'etcd', old, new: await aCa('etcd') }], AT)).toEqual([
      {
        certificate: `the old etcd CA (${one.certificate.fingerprint})`,
        rule: 'key-mismatch',
        message: `the old etcd CA (${one.certificate.fingerprint}) does not belong to the private key beside it`,
      },
    ]);
  });

  it('refuses the old CA as the new one', async () => {
    const ca = await aCa('kubernetes');
    const { fingerprint } = ca.certificate;

    const problems = lintRotation([{ target: 'kubernetes', old: ca, new: ca }], AT);

    expect(problems.map(({ rule, message }) => `${rule}: ${message}`)).toEqual([
      `same-certificate: the new kubernetes CA (${fingerprint}) is the same as the old kubernetes CA (${fingerprint})`,
      `key-identifier: the new kubernetes CA (${fingerprint}) shares its subject with the old one (${fingerprint}), and its subject key identifier, too`,
    ]);
  });

  it('refuses a new certificate for the old key', async () => {
    const keys = await oddKeys();
    const old = await anOddCertificate({ keys, subjectKeyId: '11'.repeat(20) });
    const fresh = await anOddCertificate({ keys, subjectKeyId: '22'.repeat(20) });

    expect(lintRotation([{ target: 'etcd', old, new: fresh }], AT)).toEqual([
      {
        certificate: `the new etcd CA (${fresh.certificate.fingerprint})`,
        rule: 'same-key',
        message: `the new etcd CA (${fresh.certificate.fingerprint}) has the same key as the old etcd CA (${old.certificate.fingerprint})`,
      },
    ]);
  });

  it('refuses the same serial number', async () => {
    const old = await anOddCertificate({ serial: '2a', subjectKeyId: '11'.repeat(20) });
    const fresh = await anOddCertificate({ serial: '2a', subjectKeyId: '22'.repeat(20) });

    expect(
      lintRotation([{ target: 'etcd', old, new: fresh }], AT).map((each) => `${each.rule}: ${each.message}`),
    ).toEqual([
      `same-serial: the new etcd CA (${fresh.certificate.fingerprint}) has the same serial number 2a as the old etcd CA (${old.certificate.fingerprint})`,
    ]);
  });

  it('refuses one new CA for two targets, whichever comes first', async () => {
    const shared = await anOddCertificate({ subject: 'O=shared' });
    const changes = [
      { target: 'etcd', old: await aCa('etcd'), new: shared },
      { target: 'kubernetes', old: await aCa('kubernetes'), new: shared },
    ] as const;

    expect(lintRotation(changes, AT).map(({ message }) => message)).toEqual([
      `the new kubernetes CA (${shared.certificate.fingerprint}) is the same as the new etcd CA (${shared.certificate.fingerprint})`,
    ]);
    expect(lintRotation([...changes].reverse(), AT).map(({ rule }) => rule)).toEqual(['same-certificate']);
  });

  it('refuses what the CA of a target that is not rotated has', async () => {
    const talos = await aCa('talos');
    const change = { target: 'etcd', old: await aCa('etcd'), new: talos } as const;
    const others = [{ name: 'the talos CA', certificate: talos.certificate }];

    expect(lintRotation([change], { ...AT, others }).map(({ message }) => message)).toEqual([
      `the new etcd CA (${talos.certificate.fingerprint}) is the same as the talos CA (${talos.certificate.fingerprint})`,
    ]);
  });

  it('lets old CAs share what they like: kubeadm numbers all of its CAs 0', async () => {
    const olds = [await anOddCertificate({ serial: '01' }), await anOddCertificate({ serial: '01', subject: 'O=k' })];
    const changes = [
      { target: 'etcd', old: olds[0] ?? (await aCa()), new: await aCa('etcd') },
      { target: 'kubernetes', old: olds[1] ?? (await aCa()), new: await aCa('kubernetes') },
    ] as const;

    expect(lintRotation(changes, AT)).toEqual([]);
  });

  it('lets CAs that are not rotated share what they like, with each other and with old ones', async () => {
    const [one, two, old] = [
      await anOddCertificate({ serial: '01', subject: 'O=a' }),
      await anOddCertificate({ serial: '01', subject: 'O=b' }),
      await anOddCertificate({ serial: '01' }),
    ];
    const others = [
      { name: 'the first', certificate: one.certificate },
      { name: 'the second', certificate: two.certificate },
    ];

    expect(lintRotation([{ target: 'etcd', old, new: await aCa('etcd') }], { ...AT, others })).toEqual([]);
  });

  it('wants distinct key identifiers where the names are the same, for the sake of OpenSSL', async () => {
    const old = await aCa('etcd');
    const without = await anOddCertificate({ subjectKeyId: false });
    const elsewhere = await anOddCertificate({ subjectKeyId: false, subject: 'O=etcd-2' });

    expect(lintRotation([{ target: 'etcd', old, new: without }], AT).map(({ message }) => message)).toEqual([
      `the new etcd CA (${without.certificate.fingerprint}) shares its subject with the old one (${old.certificate.fingerprint}), and it has no subject key identifier: OpenSSL could not tell them apart; choose another subject`,
    ]);
    expect(lintRotation([{ target: 'etcd', old: without, new: old }], AT).map(({ message }) => message)).toEqual([
      `the new etcd CA (${old.certificate.fingerprint}) shares its subject with the old one (${without.certificate.fingerprint}), and the old one has no subject key identifier: OpenSSL could not tell them apart; choose another subject`,
    ]);
    expect(lintRotation([{ target: 'etcd', old, new: elsewhere }], AT)).toEqual([]);
  });
});

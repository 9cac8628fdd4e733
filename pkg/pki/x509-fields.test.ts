import { Extension } from '@peculiar/x509';
import { describe, expect, it } from 'vitest';
import { anOddCertificate } from '../../test/builders/certificates.ts';
import { readX509 } from './x509-fields.ts';

const extension = (oid: string, hex: string) => new Extension(oid, false, Buffer.from(hex, 'hex'));

describe('the fields of a certificate', () => {
  it('are read where it has no extensions', async () => {
    const plain = { isCa: false, keyUsages: false, extendedKeyUsages: false, subjectKeyId: false } as const;
    const { certificate } = await anOddCertificate(plain);

    expect(readX509(certificate.der)).toMatchObject({
      extensions: [],
      basicConstraints: undefined,
      keyUsages: undefined,
      extendedKeyUsages: undefined,
      subjectKeyId: undefined,
      authorityKeyId: undefined,
    });
  });

  it('hold a path length of more than one octet', async () => {
    const { certificate } = await anOddCertificate({ pathLength: 258 });

    expect(readX509(certificate.der).basicConstraints).toEqual({ isCa: true, pathLength: 258 });
  });

  it('hold no authority key identifier where the extension names the serial number alone', async () => {
    // SEQUENCE { [2] 5 }: authorityCertSerialNumber (RFC 5280, 4.2.1.1)
    const { certificate } = await anOddCertificate({ extra: [extension('2.5.29.35', '3003820105')] });

    expect(readX509(certificate.der).authorityKeyId).toBeUndefined();
  });

  it('are refused where an extension stands twice, as Go does', async () => {
    const extra = [extension('1.2.3.4', '0500'), extension('1.2.3.4', '0500')];

    await expect(anOddCertificate({ extra })).rejects.toMatchObject({
      kind: 'invalid-certificate',
      message: 'line 1: the bytes are no X.509 certificate: extension 1.2.3.4 stands twice',
    });
  });
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCa, aLeaf } from '../../test/builders/certificates.ts';
import { startKubeServer } from '../../test/builders/kube-server.ts';
import { type CertificateAndKey, toPkcs8, writeCertificates } from '../pki/index.ts';
import { createKubeClient, fromKubeconfig } from './index.ts';

const now = Date.now();

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function aKubeconfig(of: { cluster?: object; user?: object; text?: string }): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'admin@test',
    contexts: [
      { name: 'admin@test', context: { cluster: 'test', user: 'admin' } },
      { name: 'broken', context: { cluster: 'nowhere', user: 'admin' } },
    ],
    clusters: [{ name: 'test', cluster: { server: 'https://vip.example:6443', ...of.cluster } }],
    users: [{ name: 'admin', user: of.user ?? { token: 'abc' } }],
  });
}

describe('a kubeconfig', () => {
  let old: CertificateAndKey;
  let fresh: CertificateAndKey;
  let admin: CertificateAndKey;
  let directory: string;
  let caData: { 'certificate-authority-data': string };

  beforeAll(async () => {
    old = await aCa('kubernetes', { now });
    fresh = await aCa('kubernetes', { now });
    admin = await aLeaf(fresh, { now });
    directory = await mkdtemp(join(tmpdir(), 'ichor-kubeconfig-'));
    caData = { 'certificate-authority-data': base64(writeCertificates([old.certificate, fresh.certificate])) };
  });
  afterAll(() => rm(directory, { recursive: true }));

  const userWithCertificate = () => ({
    'client-certificate-data': base64(admin.certificate.pem),
    'client-key-data': base64(admin.key.expose()),
  });

  it('gives every CA that it holds, the certificate and the key', async () => {
    const options = await fromKubeconfig(aKubeconfig({ cluster: caData, user: userWithCertificate() }));

    expect(options.server).toBe('https://vip.example:6443');
    expect(options.trust.map((ca) => ca.fingerprint)).toEqual([
      old.certificate.fingerprint,
      fresh.certificate.fingerprint,
    ]);
    expect(options.credentials).toMatchObject({ kind: 'certificate', certificate: admin.certificate, key: admin.key });
  });

  it('is bound to the machine that it is asked about instead of its own server', async () => {
    const options = await fromKubeconfig(aKubeconfig({ cluster: caData }), { server: 'https://10.5.0.2:6443' });

    expect(options.server).toBe('https://10.5.0.2:6443');
  });

  it('makes a client that works', async () => {
    await using server = await startKubeServer({ answer: () => ({ json: {} }), ca: fresh, onlyClientsOf: fresh });
    const text = aKubeconfig({ cluster: caData, user: userWithCertificate() });

    const client = createKubeClient(await fromKubeconfig(text, { server: server.url }));
    await client.request({ method: 'GET', path: '/api', doing: 'ask' });
    client.close();

    expect(server.seen).toHaveLength(1);
  });

  it('may name the certificate that the server shows', async () => {
    const options = await fromKubeconfig(aKubeconfig({ cluster: { ...caData, 'tls-server-name': 'api' } }));

    expect(options.serverName).toBe('api');
  });

  it('may run a program for its credentials', async () => {
    const answer = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'from-exec' },
    };
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: ['-p', `'${JSON.stringify(answer)}'`],
      interactiveMode: 'Never',
    };
    await using server = await startKubeServer({ answer: () => ({ json: {} }), ca: fresh });

    const options = await fromKubeconfig(aKubeconfig({ cluster: caData, user: { exec } }), { server: server.url });
    const client = createKubeClient(options);
    await client.request({ method: 'GET', path: '/api', doing: 'ask' });
    client.close();

    expect(server.seen[0]?.headers.authorization).toBe('Bearer from-exec');
  });

  it('says which program failed', async () => {
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: ['-e', 'console.error("not logged in"); process.exit(1)'],
    };
    const options = await fromKubeconfig(aKubeconfig({ cluster: caData, user: { exec } }), { where: 'me.yaml' });
    const client = createKubeClient({ ...options, server: 'https://127.0.0.1:1' });

    await expect(client.request({ method: 'GET', path: '/api', doing: 'ask' })).rejects.toThrow(
      /^unauthorized: could not get credentials from user "admin" of me.yaml on .*: not logged in/,
    );
    client.close();
  });

  it('may name files beside it', async () => {
    await writeFile(join(directory, 'ca.crt'), writeCertificates([fresh.certificate]));
    await writeFile(join(directory, 'admin.crt'), admin.certificate.pem);
    await writeFile(join(directory, 'admin.key'), toPkcs8(admin.key).expose());
    await using server = await startKubeServer({ answer: () => ({ json: {} }), ca: fresh, onlyClientsOf: fresh });
    const text = aKubeconfig({
      cluster: { 'certificate-authority': 'ca.crt' },
      user: { 'client-certificate': 'admin.crt', 'client-key': 'admin.key' },
    });

    const client = createKubeClient(await fromKubeconfig(text, { server: server.url, directory }));
    await client.request({ method: 'GET', path: '/api', doing: 'ask' });
    client.close();

    expect(server.seen).toHaveLength(1);
  });

  it.each([
    ['no such context', { context: 'x' }, {}, 'the kubeconfig: no context named "x"; it has "admin@test", "broken"'],
    [
      'a context without cluster',
      { context: 'broken' },
      {},
      'the kubeconfig: no cluster named "nowhere"; it has "test"',
    ],
    ['no CA', {}, {}, 'the kubeconfig: the cluster has no certificate-authority-data'],
    [
      'no verification',
      {},
      { cluster: { 'insecure-skip-tls-verify': true } },
      'the kubeconfig: insecure-skip-tls-verify is refused',
    ],
    ['a proxy', {}, { cluster: { 'proxy-url': 'http://p' } }, 'the kubeconfig: proxy-url is refused'],
    [
      'a file that cannot be found',
      {},
      { cluster: { 'certificate-authority': 'ca.crt' } },
      'it names the file ca.crt; its folder is not known here',
    ],
  ])('with %s is refused', async (_what, options, of, message) => {
    await expect(fromKubeconfig(aKubeconfig(of), options)).rejects.toThrow(message);
  });

  it.each([
    ['nothing', {}, 'user "admin" has no credentials'],
    ['a certificate without key', { 'client-certificate-data': 'eA==' }, 'user "admin" has no credentials'],
    ['a password', { username: 'a', password: 'b' }, 'user "admin" has a user name and password'],
    ['impersonation', { token: 'abc', as: 'root' }, 'user "admin" impersonates "root"'],
    [
      'a key file of an unknown folder',
      { 'client-certificate': 'a.crt', 'client-key': 'a.key' },
      'user "admin" names the file a.crt',
    ],
  ])('with a user of %s is refused', async (_what, user, message) => {
    await expect(fromKubeconfig(aKubeconfig({ cluster: caData, user }))).rejects.toThrow(message);
  });

  it.each(['', '[]', '42', 'just text', 'contexts: {a: {}}'])('that reads %j is refused', async (text) => {
    await expect(fromKubeconfig(text, { where: 'k.yaml' })).rejects.toThrow('k.yaml: not a kubeconfig');
  });

  it('that is no YAML is refused with the line and without quoting it', async () => {
    const error: Error = await fromKubeconfig('users:\n- name: a\n  user: {token: very-secret').then(
      () => new Error('accepted'),
      (caught: Error) => caught,
    );

    expect(error.message).toMatch(/^the kubeconfig: not valid YAML, line \d+$/);
    expect(error.stack).not.toContain('very-secret');
  });
});
